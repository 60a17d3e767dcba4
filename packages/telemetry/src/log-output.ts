import type { Clock } from '@cluster-apiserver/base';

/** Where bytes go, such as a file descriptor. */
export interface ByteOutput {
  /** Writes some of the bytes beside everything else, and calls back with how many. */
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void;
  /** Writes some of the bytes at once. */
  writeSync(bytes: Buffer): number;
}

export interface LogOutput {
  /** Queues a line and returns at once. False when there is no room for it: whoever reads the log is too slow. */
  write(line: string): boolean;
  /** The same for a line that is formatted when it is written. */
  writeLater(format: () => string): boolean;
  /** Writes what is queued before the process ends. Gives up on a reader that does not read. */
  flushSync(): void;
  /** Lines that were taken and could not be written. */
  readonly lostLines: number;
}

/** Some thousand lines. A reader that is further behind than this loses lines. */
const backlogCharactersMax = 1024 * 1024;
/**
 * Under load lines gather for so long: each write costs as much as many lines, and lines that are formatted one after
 * the other cost a fraction of what each costs in the middle of a request.
 */
const gatherMs = 50;
/** More does not gather, so that there is room for what comes while it is written. */
const gatherCharactersMax = backlogCharactersMax / 4;
/** What a line counts before it is formatted: a request with usual names. */
const unformattedCharacters = 512;
/** A pipe in non-blocking mode is full: time for its reader to read. */
const fullPauseMs = 20;
/** A write that takes longer waits for a reader that does not read, and so would a process that wants to end. */
const stuckMs = 200;

/**
 * Log lines on their way out. Writing to a pipe blocks while it is full, so it is done beside the event loop, one write
 * at a time; the lines that come meanwhile, and for a moment after it, leave together with the next one. A write is
 * whole lines, so that several processes can share an output.
 */
export function createLogOutput(output: ByteOutput, clock: Clock): LogOutput {
  let queue: (string | (() => string))[] = [];
  let queuedCharacters = 0;
  /** What is being written, and since when. */
  let current: { rest: Buffer; readonly lines: number; readonly sinceMs: number } | undefined;
  let scheduled: 'soon' | 'later' | undefined;
  let writtenMs = Number.NEGATIVE_INFINITY;
  let lostLines = 0;

  const drainQueue = (): Buffer => {
    const bytes = Buffer.from(queue.map((line) => (typeof line === 'string' ? line : line())).join(''));
    queue = [];
    queuedCharacters = 0;
    return bytes;
  };
  const startWrite = (): void => {
    scheduled = undefined;
    if (current || queue.length === 0) return;
    const lines = queue.length;
    writtenMs = clock.monotonicMs();
    current = { rest: drainQueue(), lines, sinceMs: writtenMs };
    writeRest();
  };
  /** A line after a pause leaves as soon as the event loop gets to it. */
  const schedule = (): void => {
    if (scheduled === 'soon' || (scheduled === 'later' && queuedCharacters < gatherCharactersMax)) return;
    const sinceMs = clock.monotonicMs() - writtenMs;
    scheduled = sinceMs >= gatherMs || queuedCharacters >= gatherCharactersMax ? 'soon' : 'later';
    if (scheduled === 'soon') clock.soon(startWrite);
    else clock.after(gatherMs - sinceMs, startWrite);
  };
  const writeRest = (): void => {
    if (!current) return;
    output.write(current.rest, (error, written) => {
      if (!current) return;
      if (error?.code === 'EAGAIN') return void clock.after(fullPauseMs, writeRest);
      if (error) lostLines += current.lines;
      // Nobody reads any more: what goes on is more important than its log.
      current.rest = error ? Buffer.alloc(0) : current.rest.subarray(written);
      if (current.rest.length > 0) return writeRest();
      current = undefined;
      if (queue.length > 0) schedule();
    });
  };
  const add = (line: string | (() => string), characters: number): boolean => {
    if (queuedCharacters + characters > backlogCharactersMax) return false;
    queue.push(line);
    queuedCharacters += characters;
    // What is logged right before the process ends is thereby still here when it does.
    if (!current) schedule();
    return true;
  };
  return {
    write: (line) => add(line, line.length),
    writeLater: (format) => add(format, unformattedCharacters),
    flushSync: () => {
      if (current && clock.monotonicMs() - current.sinceMs > stuckMs) return;
      // What is being written may then be written twice, which is better than not at all.
      let rest = Buffer.concat([current?.rest ?? Buffer.alloc(0), drainQueue()]);
      current = undefined;
      try {
        while (rest.length > 0) rest = rest.subarray(output.writeSync(rest));
      } catch {
        // There is nobody left to tell.
      }
    },
    get lostLines() {
      return lostLines;
    },
  };
}
