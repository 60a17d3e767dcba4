import { onAbort } from './abort-listeners.ts';

/**
 * Time as an argument. Only the server's entry point uses the machine's clock and timers, so a test can move time by
 * hand and a simulation can run hours in a second.
 */
export interface Clock {
  /** Wall time in milliseconds since 1970. It may jump; only timestamps and token lifetimes may depend on it. */
  now(): number;
  /** Milliseconds that never decrease, for deadlines, backoffs and metrics. */
  monotonicMs(): number;
  /** Calls back once after a delay. The returned function cancels the timer and may be called at any time. */
  after(delayMs: number, callback: () => void): () => void;
  /** Calls back once after all callbacks that are ready now (`setImmediate`), so that their output can be sent together. */
  soon(callback: () => void): void;
  /** Calls back once after the current callback of the event loop, before the next one (`queueMicrotask`). */
  microtask(callback: () => void): void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
  soon: (callback) => void setImmediate(callback),
  microtask: (callback) => queueMicrotask(callback),
};

/** Waits for a delay, or rejects with the signal's reason. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let stopListening = (): void => {};
    const cancel = clock.after(delayMs, () => {
      stopListening();
      resolve();
    });
    if (!signal) return;
    stopListening = onAbort(signal, () => {
      cancel();
      reject(signal.reason);
    });
  });
}
