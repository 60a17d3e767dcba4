/**
 * Reads changes that memory no longer has from the history of the store, for one watcher. Only a few read at a time, and
 * each only as far ahead as its watcher takes, so that neither the number of watchers nor a slow one loads the store or
 * the memory.
 */
import { type Clock, loopOf, type Places, type SyncTask } from '@cluster-apiserver/base';
import { RevisionCompactedError } from '../errors.ts';
import { type Revision, revision, zeroRevision } from '../revision.ts';
import type { ChangeSet } from '../store.ts';
import { ChangeWindow, type ItemChange } from './change-window.ts';
import type { CacheItem } from './collection-descriptor.ts';
import { runInFeed } from './entry-decoder.ts';

/** A reader that waits longer for its place expires, so that its client learns soon that it has to list again. */
const waitMaxMs = 10_000;

/** A reader returns its place after this time if others wait: a slow one might keep it for ever. */
const holdMaxMs = 30_000;

/** What is read ahead of a watcher weighs about as much. */
const aheadWeightMax = 1024 * 1024;

/** Some of the changes of a collection, complete up to a revision. */
export interface Changes<Item> {
  readonly revision: Revision;
  readonly changes: readonly ItemChange<Item>[];
}

export interface HistoryReaderOptions<Item> {
  readonly clock: Clock;
  readonly places: Places;
  readonly open: (after: Revision, signal: AbortSignal) => AsyncIterable<ChangeSet>;
  readonly decode: (set: ChangeSet) => SyncTask<readonly ItemChange<Item>[]>;
  /** Called once after a `take` that returned nothing. */
  readonly notify: () => void;
  readonly onClose: () => void;
}

export class HistoryReader<Item extends CacheItem> {
  readonly #options: HistoryReaderOptions<Item>;
  readonly #ahead = new ChangeWindow<Item>({ weightMax: Number.POSITIVE_INFINITY, weightOf });
  /** The changes up to here have been read. */
  #read = zeroRevision;
  #isStarving = false;
  #failure: { readonly error: unknown } | undefined;
  /** Set while it reads or waits for its place. */
  #reading: AbortController | undefined;
  #leave = (): void => {};
  #cancelTimer = (): void => {};
  #resume = (): void => {};

  constructor(options: HistoryReaderOptions<Item>) {
    this.#options = options;
  }

  /**
   * Returns whole revisions after `sent`, about as many changes as the limit; undefined if there is nothing yet. Throws a
   * RevisionCompactedError if the changes are no longer available or the wait took too long, or the error of the store.
   */
  take(sent: Revision, limit: number): Changes<Item> | undefined {
    this.#ahead.dropThrough(sent);
    if (this.#read > sent) {
      const changes = this.#ahead.after(sent, limit) ?? [];
      const last = changes.length < limit ? undefined : changes.at(-1);
      return { changes, revision: last?.revision ?? this.#read };
    }
    if (this.#failure) throw this.#failure.error;
    this.#isStarving = true;
    if (this.#reading) this.#resume();
    else this.#begin(sent);
    return undefined;
  }

  close(): void {
    this.#stop();
    this.#options.onClose();
  }

  /** Nothing more can be read, for this reason. */
  fail(error: unknown): void {
    this.#stop();
    this.#failure = { error };
    this.#notify();
  }

  #begin(after: Revision): void {
    const { clock, places } = this.#options;
    const reading = new AbortController();
    this.#reading = reading;
    this.#read = after;
    this.#ahead.restartAt(after);
    this.#cancelTimer = clock.after(waitMaxMs, () => this.fail(new RevisionCompactedError(after)));
    this.#leave = places.take(() => {
      this.#cancelTimer();
      this.#returnPlaceLater();
      void this.#readFrom(after, reading.signal);
    });
  }

  /** The next `take` waits for another place. */
  #returnPlaceLater(): void {
    const { clock, places } = this.#options;
    this.#cancelTimer = clock.after(holdMaxMs, () => {
      if (!places.isCrowded) return this.#returnPlaceLater();
      this.#stop();
      this.#notify();
    });
  }

  #notify(): void {
    if (!this.#isStarving) return;
    this.#isStarving = false;
    this.#options.notify();
  }

  /** Drops what was read ahead, too: a watcher without a place takes no memory. */
  #stop(): void {
    if (!this.#reading) return;
    this.#reading.abort();
    this.#reading = undefined;
    this.#read = zeroRevision;
    this.#ahead.restartAt(zeroRevision);
    this.#cancelTimer();
    this.#resume();
    this.#leave();
  }

  async #readFrom(after: Revision, signal: AbortSignal): Promise<void> {
    const { open, decode, clock } = this.#options;
    const loop = loopOf(clock);
    try {
      for await (const set of open(after, signal)) {
        if (!loop.hasTime('feed')) await loop.turn('feed');
        if (signal.aborted) return;
        const changes = await runInFeed(loop, decode(set));
        if (signal.aborted) return;
        for (const change of changes) this.#ahead.add(change);
        this.#read = revision(Math.max(this.#read, set.revision));
        this.#notify();
        if (this.#ahead.weight >= aheadWeightMax) await new Promise<void>((resolve) => (this.#resume = resolve));
        if (signal.aborted) return;
      }
    } catch (error) {
      if (!signal.aborted) this.fail(error);
    }
  }
}

const weightOf = <Item extends CacheItem>({ previous, current }: ItemChange<Item>): number =>
  (previous?.weight ?? 0) + (current?.weight ?? 0);
