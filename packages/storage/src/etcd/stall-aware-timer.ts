import type { Clock } from '@cluster-apiserver/base';

/** A timer this late means that the own event loop stalled, not that the peer is slow. */
const lateTimerMs = 50;

/**
 * Calls back once after the delay. After a stall of the event loop the awaited data may be in the socket, unread: then the
 * callback waits for one more turn.
 */
export function setStallAwareTimer(clock: Clock, delayMs: number, callback: () => void): () => void {
  const dueMs = clock.monotonicMs() + delayMs;
  let cancel = clock.after(delayMs, () => {
    if (clock.monotonicMs() - dueMs > lateTimerMs) cancel = clock.after(1, callback);
    else callback();
  });
  return () => cancel();
}
