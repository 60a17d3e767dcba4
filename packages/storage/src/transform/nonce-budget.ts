/**
 * Two equal nonces under one key break AES-GCM. After 2^32 random nonces of 96 bits the probability is 2^-33, the limit of
 * NIST SP 800-38D. Each process counts its own nonces from its start, so it warns early enough for sixteen processes, and
 * again whenever its count has doubled. Across restarts only the metric shows the total.
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
