/**
 * Measures turns of the event loop in processor time of its thread. Other processes do not count; pauses of V8's garbage
 * collector do.
 */
import { PerformanceObserver } from 'node:perf_hooks';

/** Shorter turns are not listed. */
const notableMs = 2;

const millisecondsOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;

export interface Turn {
  readonly processorMs: number;
  /**
   * Whether the garbage collector paused the thread meanwhile. `perf_hooks` does not report its steps of marking, such as
   * those that new memory for Buffers causes: a CPU profile shows them.
   */
  readonly hadPause: boolean;
}

/** Records turns until `end`, which returns them, longest first. */
export function watchTurns(): { end(): readonly Turn[] } {
  const turns: { readonly beganMs: number; readonly endedMs: number; readonly processorMs: number }[] = [];
  const pauses: { readonly startTime: number; readonly duration: number }[] = [];
  const observer = new PerformanceObserver((list) => void pauses.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  let last = { atMs: performance.now(), processorMs: millisecondsOf(process.threadCpuUsage()) };
  // The timer is due in each turn, so the time from one call to the next is one turn and at most a millisecond.
  const timer = setInterval(() => {
    const now = { atMs: performance.now(), processorMs: millisecondsOf(process.threadCpuUsage()) };
    const processorMs = now.processorMs - last.processorMs;
    if (processorMs > notableMs) turns.push({ beganMs: last.atMs, endedMs: now.atMs, processorMs });
    last = now;
  }, 1);
  return {
    end: () => {
      clearInterval(timer);
      // The latest pauses have not been delivered yet.
      pauses.push(...observer.takeRecords());
      observer.disconnect();
      return turns
        .toSorted((one, other) => other.processorMs - one.processorMs)
        .map(({ beganMs, endedMs, processorMs }) => ({
          processorMs,
          hadPause: pauses.some(({ startTime, duration }) => startTime < endedMs && startTime + duration > beganMs),
        }));
    },
  };
}
