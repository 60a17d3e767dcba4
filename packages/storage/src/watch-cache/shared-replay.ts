import { type Clock, loopOf } from '@cluster-apiserver/base';
import { type Revision, revision } from '../revision.ts';
import type { ReplayReader } from './catch-up-reader.ts';
import { ChangeWindow, type ItemChange } from './change-window.ts';
import type { CacheItem } from './collection-descriptor.ts';
import type { Changes, IncompleteChange, ReplayedChanges } from './entry-decoder.ts';

/** The weight of the objects before and after the buffered changes. */
const bufferWeightMax = 8 * 1024 * 1024;

/** How much is read before the foremost reader needs it. */
const readAheadWeightMax = 1024 * 1024;

const marksMax = bufferWeightMax / readAheadWeightMax - 1;

/** This many revisions are read within seconds. A reader that is further ahead waits for another replay. */
export const revisionGapMax = 100_000;

/** How long the replay waits, for each `readAheadWeightMax`, for readers that are about to fall out of the buffer. */
const slowReaderWaitMs = 100;

/** A replay ends after this time if readers wait for another one: in a quiet collection it might never end. */
const replayMaxMs = 30_000;

/** A replay without active readers ends; its readers may join another one. */
const idleMs = 5_000;

/** Opens a watch of past changes. Each set is decoded when it is called. */
export type OpenReplay<Item> = (after: Revision, signal: AbortSignal) => AsyncIterable<() => ReplayedChanges<Item>>;

interface ReplayOwner {
  readonly hasWaitingReaders: () => boolean;
  readonly onEnd: () => void;
}

/** One watch of past changes, which several readers share through a buffer. */
export class SharedReplay<Item extends CacheItem> {
  readonly #clock: Clock;
  readonly #owner: ReplayOwner;
  readonly #window = new ChangeWindow<Item>({ weightMax: bufferWeightMax, weightOf });
  readonly #readers = new Set<ReplayReader<Item>>();
  /** Readers that have taken everything there was for them, or wait for a change that is still being decrypted. */
  readonly #starving = new Set<ReplayReader<Item>>();
  /** Changes with values that are still being decrypted. */
  readonly #incomplete = new Set<ItemChange<Item>>();
  readonly #abort = new AbortController();
  #currentRevision: Revision;
  /** The weight that was read since the foremost reader needed more. */
  #aheadWeight = 0;
  /** The revision each time `readAheadWeightMax` had been read. The buffer reaches back somewhat further. */
  readonly #marks: Revision[] = [];
  #isNotifyScheduled = false;
  #resume = (): void => {};
  #cancelTimer = (): void => {};
  #cancelIdle = (): void => {};

  constructor(openReplay: OpenReplay<Item>, clock: Clock, after: Revision, owner: ReplayOwner) {
    this.#clock = clock;
    this.#owner = owner;
    this.#currentRevision = after;
    this.#window.restartAt(after);
    this.#scheduleEnd();
    void this.#read(openReplay(after, this.#abort.signal));
  }

  get bufferedBytes(): number {
    return this.#window.weight;
  }

  covers(sent: Revision): boolean {
    return sent >= this.#window.since && sent - this.#currentRevision <= revisionGapMax;
  }

  join(reader: ReplayReader<Item>): void {
    this.#readers.add(reader);
    this.#addStarving(reader);
    this.#notifySoon();
  }

  leave(reader: ReplayReader<Item>): void {
    this.#readers.delete(reader);
    this.#starving.delete(reader);
    reader.handleReplayEnd(undefined);
    if (this.#readers.size === 0) this.end();
  }

  /** `blocked`: the next change of the reader is still being decrypted. */
  take(reader: ReplayReader<Item>, limit: number): Changes<Item> | 'behind' | 'blocked' | undefined {
    const { sent } = reader;
    const changes = this.#window.after(sent, limit);
    if (!changes) return 'behind';
    if (sent >= this.#currentRevision) {
      this.#addStarving(reader);
      return undefined;
    }
    const blocking = changes.find((change) => this.#incomplete.has(change) && reader.covers(change.key));
    if (blocking) return this.#takeBefore(blocking, reader, changes);
    const last = changes.length < limit ? undefined : changes.at(-1);
    return { changes, revision: last?.revision ?? this.#currentRevision };
  }

  #takeBefore(
    blocking: ItemChange<Item>,
    reader: ReplayReader<Item>,
    changes: readonly ItemChange<Item>[],
  ): Changes<Item> | 'blocked' {
    const before = revision(blocking.revision - 1);
    if (before > reader.sent)
      return { changes: changes.filter((change) => change.revision <= before), revision: before };
    reader.blockedBy = blocking;
    this.#addStarving(reader);
    return 'blocked';
  }

  #isBlocked({ blockedBy }: ReplayReader<Item>): boolean {
    return blockedBy !== undefined && this.#incomplete.has(blockedBy);
  }

  async #complete({ change, completed }: IncompleteChange<Item>): Promise<void> {
    this.#incomplete.add(change);
    const complete = await completed;
    if (this.#abort.signal.aborted) return;
    this.#incomplete.delete(change);
    this.#window.replaceChange(change, complete);
    this.#notifySoon();
  }

  async #read(sets: AsyncIterable<() => ReplayedChanges<Item>>): Promise<void> {
    const loop = loopOf(this.#clock);
    let error: unknown;
    try {
      for await (const changesOf of sets) {
        if (!loop.hasTime('feed')) await loop.turn('feed');
        // Once the replay has ended, nothing would end the pause.
        if (this.#abort.signal.aborted) return;
        const { revision: at, changes, incomplete } = changesOf();
        for (const change of changes) {
          this.#window.add(change);
          this.#aheadWeight += weightOf(change);
        }
        for (const one of incomplete) void this.#complete(one);
        this.#currentRevision = revision(Math.max(this.#currentRevision, at));
        this.#notifySoon();
        if (this.#aheadWeight >= readAheadWeightMax) await this.#pause();
        if (this.#abort.signal.aborted) return;
      }
    } catch (cause) {
      error = cause;
    }
    this.end(error);
  }

  #addStarving(reader: ReplayReader<Item>): void {
    this.#starving.add(reader);
    if (reader.sent < this.#currentRevision) return;
    this.#aheadWeight = 0;
    this.#cancelIdle();
    this.#resume();
  }

  /** Waits until a reader needs more. If one does already, waits briefly for readers that are far behind. */
  async #pause(): Promise<void> {
    this.#marks.push(this.#currentRevision);
    if (this.#marks.length > marksMax) this.#marks.shift();
    this.#aheadWeight = 0;
    if (!this.#isMoreNeeded()) await this.#waitUntilNeeded();
    else if (this.#hasReaderAtRisk())
      await new Promise<void>((resolve) => this.#clock.after(slowReaderWaitMs, resolve));
  }

  /** Whether a reader is about to fall out of the buffer. */
  #hasReaderAtRisk(): boolean {
    const [mark] = this.#marks;
    if (mark === undefined || this.#marks.length < marksMax) return false;
    for (const reader of this.#readers)
      if (reader.sent < mark && reader.sent >= this.#window.since && !this.#isBlocked(reader)) return true;
    return false;
  }

  /** Whether a reader has taken everything, or is still ahead of the replay. */
  #isMoreNeeded(): boolean {
    for (const { sent } of this.#starving) if (sent >= this.#currentRevision) return true;
    return false;
  }

  #waitUntilNeeded(): Promise<void> {
    this.#cancelIdle = this.#clock.after(idleMs, () => this.end());
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** Once per turn, however much was read in it. */
  #notifySoon(): void {
    if (this.#isNotifyScheduled) return;
    this.#isNotifyScheduled = true;
    this.#clock.soon(() => {
      this.#isNotifyScheduled = false;
      for (const reader of this.#starving) {
        if (reader.sent >= this.#currentRevision || this.#isBlocked(reader)) continue;
        this.#starving.delete(reader);
        reader.notify();
      }
    });
  }

  #scheduleEnd(): void {
    this.#cancelTimer = this.#clock.after(replayMaxMs, () => {
      if (this.#owner.hasWaitingReaders()) this.end();
      else this.#scheduleEnd();
    });
  }

  /** Its readers get the error if there is one, else they may join another replay. */
  end(error?: unknown): void {
    if (this.#abort.signal.aborted) return;
    this.#abort.abort();
    this.#cancelTimer();
    this.#cancelIdle();
    this.#resume();
    // Decryptions that continue must not keep the buffer in memory.
    this.#window.restartAt(this.#currentRevision);
    for (const reader of this.#readers) reader.handleReplayEnd(error);
    // Readers that need more queue for another replay now, the others when they need more.
    if (error === undefined) for (const reader of this.#starving) reader.notify();
    this.#owner.onEnd();
  }
}

const weightOf = <Item extends CacheItem>({
  previous,
  current,
}: {
  previous?: Item | undefined;
  current?: Item | undefined;
}): number => (previous?.weight ?? 0) + (current?.weight ?? 0);
