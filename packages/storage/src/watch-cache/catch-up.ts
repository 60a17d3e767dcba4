/**
 * Changes that memory no longer has, read from the store for all who have missed them. Readers share a pass: one watch
 * of the whole collection, which begins at the oldest of them. It reads on when the foremost reader wants more, and the
 * rest take what is buffered; whoever falls further behind than the buffer goes on in a later pass. So neither the
 * number of readers nor a slow one changes what the store is asked and what memory holds.
 */
import { type Clock, TimeSlice } from '@cluster-apiserver/base';
import { RevisionCompactedError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { CacheItem, Changes } from './collection.ts';
import { ChangeWindow } from './change-window.ts';

/** For those who come back together, and for those who are further behind than they. */
const replaysMax = 2;

/** The objects before and after the buffered changes, for each pass. */
const bufferWeightMax = 8 * 1024 * 1024;

/** Read before the foremost reader wants it. */
const readAheadWeightMax = 1024 * 1024;

/** As many revisions are read in some seconds: whoever is further ahead of a pass waits for another one. */
const revisionGapMax = 100_000;

/** As long is waited, for each `aheadWeightMax`, for those whom the buffer is about to leave behind. */
const slowReaderWaitMs = 100;

/** Nobody waits for the first change longer than this: a client hears sooner that it has to list again. */
const waitMaxMs = 10_000;

/** A pass ends after this time if somebody waits for another one: in a quiet collection it may have no end of its own. */
const replayMaxMs = 30_000;

/** A pass that nobody takes anything from ends; its readers may go on in another one. */
const idleMs = 5_000;

export interface CatchUpReader<Item> {
  /**
   * Whole revisions after `sent`, about as many changes as the limit; undefined when there is nothing yet, and then
   * there is a notification later; `refused` when the wait took too long. Throws a RevisionCompactedError when what was
   * missed is gone, or what else went wrong.
   */
  take(sent: Revision, limit: number): Changes<Item> | 'refused' | undefined;
  close(): void;
}

/** What is worth knowing of the catch-ups of a collection. */
export interface CatchUpStatistics {
  /** Passes that read from the store now, and all since the start. */
  readonly running: number;
  readonly begun: number;
  /** Readers that wait for a pass. */
  readonly waiting: number;
  /** Readers that waited for too long, and were refused. */
  readonly refused: number;
  /** About how many bytes are buffered. */
  readonly bufferedBytes: number;
}

const marksMax = bufferWeightMax / readAheadWeightMax - 1;

/** Each set of changes is looked into when it is called for. */
type OpenReplay<Item> = (after: Revision, signal: AbortSignal) => AsyncIterable<() => Changes<Item>>;

export class CatchUp<Item extends CacheItem> {
  readonly #replay: OpenReplay<Item>;
  readonly #clock: Clock;
  readonly #passes = new Set<SharedReplay<Item>>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Reader<Item>>();
  #admitting = false;
  #begun = 0;
  #refused = 0;

  constructor(replay: OpenReplay<Item>, clock: Clock) {
    this.#replay = replay;
    this.#clock = clock;
  }

  get statistics(): CatchUpStatistics {
    let bufferedBytes = 0;
    for (const pass of this.#passes) bufferedBytes += pass.bufferedBytes;
    return {
      running: this.#passes.size,
      begun: this.#begun,
      waiting: this.#waiting.size,
      refused: this.#refused,
      bufferedBytes,
    };
  }

  open(after: Revision, notify: () => void): CatchUpReader<Item> {
    return new Reader(this, this.#clock, after, notify);
  }

  enter(reader: Reader<Item>): void {
    this.#waiting.add(reader);
    this.#admitSoon();
  }

  /** Takes a wait back. */
  leave(reader: Reader<Item>): void {
    this.#waiting.delete(reader);
  }

  /** It has waited for too long. */
  refuse(reader: Reader<Item>): void {
    this.#refused++;
    this.leave(reader);
  }

  /** In the next turn: those who come in this one are in the same pass. */
  #admitSoon(): void {
    if (this.#admitting) return;
    this.#admitting = true;
    this.#clock.soon(() => {
      this.#admitting = false;
      this.#admit();
    });
  }

  #admit(): void {
    for (const reader of this.#waiting) {
      let pass = [...this.#passes].find((one) => one.covers(reader.sent));
      if (!pass && this.#passes.size < replaysMax) pass = this.#begin(reader.sent);
      if (!pass) continue;
      this.#waiting.delete(reader);
      reader.join(pass);
    }
  }

  /** Begins at the oldest of those who wait and are not much further behind than this one. */
  #begin(sent: Revision): SharedReplay<Item> {
    let after = sent;
    for (const reader of this.#waiting)
      if (reader.sent < after && reader.sent >= sent - revisionGapMax) after = reader.sent;
    const pass: SharedReplay<Item> = new SharedReplay(this.#replay, this.#clock, after, {
      isWaitedFor: () => this.#waiting.size > 0,
      ended: () => {
        this.#passes.delete(pass);
        this.#admitSoon();
      },
    });
    this.#passes.add(pass);
    this.#begun++;
    return pass;
  }
}

class Reader<Item extends CacheItem> implements CatchUpReader<Item> {
  readonly notify: () => void;
  sent: Revision;
  readonly #catchUp: CatchUp<Item>;
  readonly #clock: Clock;
  #pass: SharedReplay<Item> | undefined;
  #cancelWait: (() => void) | undefined;
  #isRefused = false;
  #error: { readonly cause: unknown } | undefined;
  #closed = false;

  constructor(catchUp: CatchUp<Item>, clock: Clock, sent: Revision, notify: () => void) {
    this.#catchUp = catchUp;
    this.#clock = clock;
    this.sent = sent;
    this.notify = notify;
  }

  take(sent: Revision, limit: number): Changes<Item> | 'refused' | undefined {
    this.sent = sent;
    if (this.#error) throw this.#error.cause;
    if (this.#isRefused) return 'refused';
    const changes = this.#pass?.take(this, limit);
    if (changes === 'behind') this.#pass?.leave(this);
    else if (changes) {
      this.#stopWaiting();
      return changes;
    }
    if (!this.#pass) this.#enter();
    return undefined;
  }

  close(): void {
    this.#closed = true;
    this.#stopWaiting();
    this.#catchUp.leave(this);
    this.#pass?.leave(this);
  }

  #enter(): void {
    this.#cancelWait ??= this.#clock.after(waitMaxMs, () => {
      this.#isRefused = true;
      this.#catchUp.refuse(this);
      this.#pass?.leave(this);
      this.notify();
    });
    this.#catchUp.enter(this);
  }

  /** What the pass reads is for this reader too. Until the pass has come to it, the reader still waits. */
  join(pass: SharedReplay<Item>): void {
    this.#pass = pass;
    pass.join(this);
  }

  /** It is in no pass any more. */
  left(error: unknown): void {
    this.#pass = undefined;
    if (this.#closed || error === undefined) return;
    const isKept =
      error instanceof RevisionCompactedError &&
      error.oldestRevision !== undefined &&
      this.sent >= error.oldestRevision;
    if (!isKept) this.#error = { cause: error };
    this.notify();
  }

  #stopWaiting(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
  }
}

interface ReplayOwner {
  readonly isWaitedFor: () => boolean;
  readonly ended: () => void;
}

class SharedReplay<Item extends CacheItem> {
  readonly #clock: Clock;
  readonly #surroundings: ReplayOwner;
  readonly #window = new ChangeWindow<Item>({ weightMax: bufferWeightMax, weightOf });
  readonly #readers = new Set<Reader<Item>>();
  /** Those who have taken all that there was for them. */
  readonly #wanting = new Set<Reader<Item>>();
  readonly #abort = new AbortController();
  #reached: Revision;
  /** What was read since somebody wanted more. */
  #aheadWeight = 0;
  /** How far the pass was, each time that so much had been read. The buffer reaches back somewhat further. */
  readonly #marks: Revision[] = [];
  #notifying = false;
  #resume = (): void => {};
  #cancelTimer = (): void => {};
  #cancelIdle = (): void => {};

  constructor(replay: OpenReplay<Item>, clock: Clock, after: Revision, surroundings: ReplayOwner) {
    this.#clock = clock;
    this.#surroundings = surroundings;
    this.#reached = after;
    this.#window.restartAt(after);
    this.#endLater();
    void this.#read(replay(after, this.#abort.signal));
  }

  get bufferedBytes(): number {
    return this.#window.weight;
  }

  covers(sent: Revision): boolean {
    return sent >= this.#window.since && sent - this.#reached <= revisionGapMax;
  }

  join(reader: Reader<Item>): void {
    this.#readers.add(reader);
    this.#want(reader);
    this.#notifySoon();
  }

  leave(reader: Reader<Item>): void {
    this.#readers.delete(reader);
    this.#wanting.delete(reader);
    reader.left(undefined);
    if (this.#readers.size === 0) this.#end();
  }

  take(reader: Reader<Item>, limit: number): Changes<Item> | 'behind' | undefined {
    const { sent } = reader;
    const changes = this.#window.after(sent, limit);
    if (!changes) return 'behind';
    if (sent >= this.#reached) {
      this.#want(reader);
      return undefined;
    }
    const last = changes.length < limit ? undefined : changes.at(-1);
    return { changes, revision: last?.revision ?? this.#reached };
  }

  async #read(sets: AsyncIterable<() => Changes<Item>>): Promise<void> {
    const turn = new TimeSlice(this.#clock);
    let error: unknown;
    try {
      for await (const changesOf of sets) {
        if (this.#abort.signal.aborted) return;
        turn.resume();
        const { revision: at, changes } = changesOf();
        for (const change of changes) {
          this.#window.add(change);
          this.#aheadWeight += weightOf(change);
        }
        this.#reached = revision(Math.max(this.#reached, at));
        this.#notifySoon();
        if (turn.shouldYield()) await turn.yieldToEventLoop();
        if (this.#aheadWeight >= readAheadWeightMax) await this.#pause();
        if (this.#abort.signal.aborted) return;
      }
    } catch (cause) {
      error = cause;
    }
    this.#end(error);
  }

  #want(reader: Reader<Item>): void {
    this.#wanting.add(reader);
    if (reader.sent < this.#reached) return;
    this.#aheadWeight = 0;
    this.#cancelIdle();
    this.#resume();
  }

  /** Until somebody wants more, or if somebody does, for a moment for those who are far behind. */
  async #pause(): Promise<void> {
    this.#marks.push(this.#reached);
    if (this.#marks.length > marksMax) this.#marks.shift();
    this.#aheadWeight = 0;
    if (!this.#isWanted()) await this.#wanted();
    else if (this.#leavesBehind()) await new Promise<void>((resolve) => this.#clock.after(slowReaderWaitMs, resolve));
  }

  /** Whether somebody is about to lose his place in the buffer. */
  #leavesBehind(): boolean {
    const [mark] = this.#marks;
    if (mark === undefined || this.#marks.length < marksMax) return false;
    for (const { sent } of this.#readers) if (sent < mark && sent >= this.#window.since) return true;
    return false;
  }

  /** Whether somebody has taken all there is, or has not been reached yet. */
  #isWanted(): boolean {
    for (const { sent } of this.#wanting) if (sent >= this.#reached) return true;
    return false;
  }

  #wanted(): Promise<void> {
    this.#cancelIdle = this.#clock.after(idleMs, () => this.#end());
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** Once in a turn, whatever was read in it. */
  #notifySoon(): void {
    if (this.#notifying) return;
    this.#notifying = true;
    this.#clock.soon(() => {
      this.#notifying = false;
      for (const reader of this.#wanting) {
        if (reader.sent >= this.#reached) continue;
        this.#wanting.delete(reader);
        reader.notify();
      }
    });
  }

  #endLater(): void {
    this.#cancelTimer = this.#clock.after(replayMaxMs, () => {
      if (this.#surroundings.isWaitedFor()) this.#end();
      else this.#endLater();
    });
  }

  #end(error?: unknown): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    this.#cancelTimer();
    this.#cancelIdle();
    this.#resume();
    for (const reader of this.#readers) reader.left(error);
    // Whoever waits for more goes to the end of the line; the others do when they want more.
    if (error === undefined) for (const reader of this.#wanting) reader.notify();
    this.#surroundings.ended();
  }
}

const weightOf = <Item extends CacheItem>({
  previous,
  current,
}: {
  previous?: Item | undefined;
  current?: Item | undefined;
}): number => (previous?.weight ?? 0) + (current?.weight ?? 0);
