import type { Clock } from '@cluster-apiserver/base';

/** Where bytes go, such as a file descriptor. */
export interface ByteOutput {
  /** Writes some of the bytes asynchronously, and calls back with how many. */
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void;
  /** Writes some of the bytes synchronously. */
  writeSync(bytes: Buffer): number;
}

export interface LogOutput {
  /** Queues a line without blocking. Returns false if the queue is full because the reader is too slow. */
  write(line: string): boolean;
  /** Queues a line that is formatted when it is written. */
  writeLater(format: () => string): boolean;
  /** Flushes the queue before the process exits. Gives up if the reader does not read. */
  flushSync(): void;
  /** Accepted lines that could not be written. */
  readonly lostLines: number;
}

/** Some thousand lines. A slower reader loses lines. */
const backlogCharactersMax = 1024 * 1024;
/**
 * Time to collect lines under load: a write costs as much as many lines, and formatting lines together costs a fraction of
 * formatting each during a request.
 */
const gatherMs = 50;
/** Maximum size to collect, so that the queue has space while it is written. */
const gatherCharactersMax = backlogCharactersMax / 4;
/** Assumed size of an unformatted line. */
const unformattedCharacters = 512;
/** Pause before the next write to a full pipe. */
const fullPauseMs = 20;
/** A write that takes longer waits for a reader that does not read; the process must not wait for it at exit. */
const stuckMs = 200;

/**
 * Writes log lines asynchronously, one write at a time, because a full pipe blocks. Lines that arrive during a write, and
 * shortly after it, are written together. Each write has whole lines, so that several processes can share an output.
 */
export function createLogOutput(output: ByteOutput, clock: Clock): LogOutput {
  let queue: (string | (() => string))[] = [];
  let queuedCharacters = 0;
  /** The running write. */
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
  /** After a pause, a line is written in the next iteration of the event loop. */
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
      // Without a reader, lines are dropped: serving is more important than its log.
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
    // Not written synchronously, so that flushSync still finds the lines logged right before the process exits.
    if (!current) schedule();
    return true;
  };
  return {
    write: (line) => add(line, line.length),
    writeLater: (format) => add(format, unformattedCharacters),
    flushSync: () => {
      if (current && clock.monotonicMs() - current.sinceMs > stuckMs) return;
      // The running write may be repeated, which is better than losing it.
      let rest = Buffer.concat([current?.rest ?? Buffer.alloc(0), drainQueue()]);
      current = undefined;
      try {
        while (rest.length > 0) rest = rest.subarray(output.writeSync(rest));
      } catch {
        // The process exits: there is no way left to report it.
      }
    },
    get lostLines() {
      return lostLines;
    },
  };
}
