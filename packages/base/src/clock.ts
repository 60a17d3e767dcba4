/**
 * Time as an argument. Nothing outside the server's entry reads the machine's clock or sets a timer by itself, so a
 * test can move time by hand and a simulation can run hours in a second.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970. It may jump; only timestamps and token lifetimes may depend on it. */
  now(): number;
  /** Milliseconds that only ever grow. Deadlines, back-offs and measures depend on this one. */
  monotonicMs(): number;
  /** Calls back once after a delay. The returned function takes the call back and may be called at any time. */
  after(delayMs: number, callback: () => void): () => void;
  /** Calls back once when all that is ready now has been worked on: what piles up until then can go out together. */
  soon(callback: () => void): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
  soon: (callback) => void setImmediate(callback),
};

/** Waits, or ends early with the signal's reason. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    });
    signal?.addEventListener('abort', aborted, { once: true });
  });
}
