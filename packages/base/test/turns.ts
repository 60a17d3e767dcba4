/**
 * How long the turns of the event loop take, in processor time of its thread, so that the other processes of a machine
 * do not count; pauses of V8's collector do.
 */
import { PerformanceObserver } from 'node:perf_hooks';

/** Shorter turns are not listed. */
const notableMs = 2;

const millisecondsOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1_000;

export interface Turn {
  readonly processorMs: number;
  /** Whether V8's collector paused the thread meanwhile. */
  readonly hadPause: boolean;
}

/** The turns since it was begun, longest first. */
export function watchTurns(): { end(): readonly Turn[] } {
  const turns: { readonly beganMs: number; readonly endedMs: number; readonly processorMs: number }[] = [];
  const pauses: { readonly startTime: number; readonly duration: number }[] = [];
  const observer = new PerformanceObserver((list) => void pauses.push(...list.getEntries()));
  observer.observe({ entryTypes: ['gc'] });
  let last = { atMs: performance.now(), processorMs: millisecondsOf(process.threadCpuUsage()) };
  // A timer is due in each turn, so from one to the next it is one turn and at most a millisecond.
  const timer = setInterval(() => {
    const now = { atMs: performance.now(), processorMs: millisecondsOf(process.threadCpuUsage()) };
    const processorMs = now.processorMs - last.processorMs;
    if (processorMs > notableMs) turns.push({ beganMs: last.atMs, endedMs: now.atMs, processorMs });
    last = now;
  }, 1);
  return {
    end: () => {
      clearInterval(timer);
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
