import type { Clock } from '@cluster-apiserver/base';

/** A timer this late says that our own event loop stood still, not that the other side is slow. */
const lateTimerMs = 50;

/**
 * Calls back once after the delay. What it waits for may lie in the socket, unread, when the event loop has stood still:
 * then there is one more turn of it before.
 */
export function setStallAwareTimer(clock: Clock, delayMs: number, callback: () => void): () => void {
  const dueMs = clock.monotonicMs() + delayMs;
  let cancel = clock.after(delayMs, () => {
    if (clock.monotonicMs() - dueMs > lateTimerMs) cancel = clock.after(1, callback);
    else callback();
  });
  return () => cancel();
}
