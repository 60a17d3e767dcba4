/**
 * Two equal nonces under one key give AES-GCM away, and random nonces of 96 bits meet sooner than one thinks: after 2^32
 * of them the chance is 2^-33, which is as much as NIST SP 800-38D allows. Each process counts only its own, and begins at
 * zero when it starts; nothing is stored. So it speaks up early enough for sixteen processes, and again whenever their
 * number has doubled. A process that restarts before 2^28 writes never speaks: across restarts only the metric tells.
 */
const firstWarning = 2 ** 28;

export function nonceBudget(warn: (drawn: number) => void): () => void {
  let drawn = 0;
  let warnAt = firstWarning;
  return () => {
    drawn++;
    if (drawn < warnAt) return;
    warnAt *= 2;
    warn(drawn);
  };
}
