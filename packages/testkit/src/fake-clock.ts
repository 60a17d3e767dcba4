import type { Clock } from '@cluster-apiserver/base';

/** A clock that a test advances. It counts the pending timers. */
export interface FakeClock extends Clock {
  readonly waiting: number;
  advance(ms: number): void;
}

export function fakeClock(startMs = Date.UTC(2026, 0, 1)): FakeClock {
  let nowMs = startMs;
  const waiting = new Set<{ readonly atMs: number; readonly callback: () => void }>();
  return {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    after: (delayMs, callback) => {
      const entry = { atMs: nowMs + delayMs, callback };
      waiting.add(entry);
      return () => void waiting.delete(entry);
    },
    soon: (callback) => void setImmediate(callback),
    microtask: queueMicrotask,
    get waiting() {
      return waiting.size;
    },
    advance: (ms) => {
      const endMs = nowMs + ms;
      for (;;) {
        const [next] = [...waiting].filter(({ atMs }) => atMs <= endMs).sort((one, other) => one.atMs - other.atMs);
        if (!next) break;
        waiting.delete(next);
        nowMs = next.atMs;
        next.callback();
      }
      nowMs = endMs;
    },
  };
}
