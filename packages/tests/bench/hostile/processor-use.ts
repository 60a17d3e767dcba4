/** CPU time of a process, from Linux. Shares are of one core. */
import fs from 'node:fs';

export interface ProcessorTime {
  /** Of the main thread. */
  readonly mainMs: number;
  /** Of all threads together. */
  readonly totalMs: number;
  /** Time that the main thread was ready to run while other threads had the core. */
  readonly waitedMs: number;
}

export interface ProcessorUse {
  readonly main: number;
  readonly otherThreads: number;
  /** Share of the time that the main thread waited for a core. */
  readonly waiting: number;
}

const zero: ProcessorTime = { mainMs: 0, totalMs: 0, waitedMs: 0 };
const nanosecondsPerMs = 1e6;
const millisecondsPerTick = 10;

/** Zero if the process has ended. */
export function readProcessorTime(pid: number | undefined): ProcessorTime {
  if (pid === undefined) return zero;
  try {
    const times = fs.readdirSync(`/proc/${pid}/task`).map((thread) => readSchedule(`/proc/${pid}/task/${thread}`));
    const main = readSchedule(`/proc/${pid}/task/${pid}`);
    return { mainMs: main.ranMs, waitedMs: main.waitedMs, totalMs: times.reduce((sum, { ranMs }) => sum + ranMs, 0) };
  } catch {
    return zero; // the process or a thread has ended
  }
}

/**
 * All CPU time of a process, that of ended threads, too: user and system time are fields 14 and 15 of `stat`. The
 * name before them may contain anything but the last parenthesis.
 */
export function readProcessorMs(pid: number): number {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) * millisecondsPerTick;
}

/** `schedstat`: nanoseconds on a core, nanoseconds of waiting for one, and a count. */
function readSchedule(directory: string): { readonly ranMs: number; readonly waitedMs: number } {
  const [ran = 0, waited = 0] = fs.readFileSync(`${directory}/schedstat`, 'utf8').split(' ').map(Number);
  return { ranMs: ran / nanosecondsPerMs, waitedMs: waited / nanosecondsPerMs };
}

export function processorUse(before: ProcessorTime, after: ProcessorTime, elapsedMs: number): ProcessorUse {
  const main = Math.max(0, after.mainMs - before.mainMs);
  const total = Math.max(main, after.totalMs - before.totalMs);
  return {
    main: main / elapsedMs,
    otherThreads: (total - main) / elapsedMs,
    waiting: Math.max(0, after.waitedMs - before.waitedMs) / elapsedMs,
  };
}
