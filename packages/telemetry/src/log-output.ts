import { type Clock, keepText } from '@cluster-apiserver/base';

/** Where bytes go, such as a file descriptor. */
export interface ByteOutput {
  /** Writes some of the bytes asynchronously, and calls back with how many. */
  write(bytes: Buffer, done: (error: NodeJS.ErrnoException | null, written: number) => void): void;
  /** Writes some of the bytes synchronously. */
  writeSync(bytes: Buffer): number;
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
export class LogOutput {
  readonly #output: ByteOutput;
  readonly #clock: Clock;
  #queue: (string | (() => string))[] = [];
  #queuedCharacters = 0;
  /** The running write. */
  #current: { rest: Buffer; readonly lines: number; readonly sinceMs: number } | undefined;
  #scheduled: 'soon' | 'later' | undefined;
  #writtenMs = Number.NEGATIVE_INFINITY;
  #lostLines = 0;

  constructor(output: ByteOutput, clock: Clock) {
    this.#output = output;
    this.#clock = clock;
  }

  /** Accepted lines that could not be written. */
  get lostLines(): number {
    return this.#lostLines;
  }

  /** Queues a line without blocking. Returns false if the queue is full because the reader is too slow. */
  write(line: string): boolean {
    // The line may consist of parts of a long request.
    return this.#add(keepText(line), line.length);
  }

  /** Queues a line that is formatted when it is written. */
  writeLater(format: () => string): boolean {
    return this.#add(format, unformattedCharacters);
  }

  /** Flushes the queue before the process exits. Gives up if the reader does not read. */
  flushSync(): void {
    if (this.#current && this.#clock.monotonicMs() - this.#current.sinceMs > stuckMs) return;
    // The running write may be repeated, which is better than losing it.
    let rest = Buffer.concat([this.#current?.rest ?? Buffer.alloc(0), this.#drainQueue()]);
    this.#current = undefined;
    try {
      while (rest.length > 0) rest = rest.subarray(this.#output.writeSync(rest));
    } catch {
      // The process exits: there is no way left to report it.
    }
  }

  #add(line: string | (() => string), characters: number): boolean {
    if (this.#queuedCharacters + characters > backlogCharactersMax) return false;
    this.#queue.push(line);
    this.#queuedCharacters += characters;
    // Not written synchronously, so that flushSync still finds the lines logged right before the process exits.
    if (!this.#current) this.#schedule();
    return true;
  }

  /** After a pause, a line is written in the next iteration of the event loop. */
  #schedule(): void {
    const isLarge = this.#queuedCharacters >= gatherCharactersMax;
    if (this.#scheduled === 'soon' || (this.#scheduled === 'later' && !isLarge)) return;
    const sinceMs = this.#clock.monotonicMs() - this.#writtenMs;
    this.#scheduled = sinceMs >= gatherMs || isLarge ? 'soon' : 'later';
    const startWrite = (): void => this.#startWrite();
    if (this.#scheduled === 'soon') this.#clock.soon(startWrite);
    else this.#clock.after(gatherMs - sinceMs, startWrite);
  }

  #startWrite(): void {
    this.#scheduled = undefined;
    if (this.#current || this.#queue.length === 0) return;
    const lines = this.#queue.length;
    this.#writtenMs = this.#clock.monotonicMs();
    this.#current = { rest: this.#drainQueue(), lines, sinceMs: this.#writtenMs };
    this.#writeRest();
  }

  #writeRest(): void {
    if (!this.#current) return;
    this.#output.write(this.#current.rest, (error, written) => {
      const current = this.#current;
      if (!current) return;
      if (error?.code === 'EAGAIN') return void this.#clock.after(fullPauseMs, () => this.#writeRest());
      if (error) this.#lostLines += current.lines;
      // Without a reader, lines are dropped: serving is more important than its log.
      current.rest = error ? Buffer.alloc(0) : current.rest.subarray(written);
      if (current.rest.length > 0) return this.#writeRest();
      this.#current = undefined;
      if (this.#queue.length > 0) this.#schedule();
    });
  }

  #drainQueue(): Buffer {
    const bytes = Buffer.from(this.#queue.map((line) => (typeof line === 'string' ? line : line())).join(''));
    this.#queue = [];
    this.#queuedCharacters = 0;
    return bytes;
  }
}
