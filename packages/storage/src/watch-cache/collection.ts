import { type Clock, type Places, runTask } from '@cluster-apiserver/base';
import { RevisionReplacedError, RevisionTooLargeError } from '../errors.ts';
import { type Revision, zeroRevision } from '../revision.ts';
import type { Call, FollowedStore } from '../store.ts';
import type { CacheItem, CollectionDescriptor } from './collection-descriptor.ts';
import type { CollectionState, Subscriber } from './collection-state.ts';
import { decodeChanges, decodeEntries, fullKeyOf } from './entry-decoder.ts';
import type { Freshness } from './freshness.ts';
import { HistoryReader } from './history-reader.ts';
import { type View, withoutChanges } from './view.ts';
import type { ItemChange } from './change-window.ts';

/** Counts of a collection since it was opened. */
export interface CollectionStatistics {
  readonly objects: number;
  /** How often it was loaded. */
  readonly initializations: number;
  readonly eventsReceived: number;
  /** Events that were delivered to the subscribers. */
  readonly eventsDispatched: number;
  /** The changes in memory, which watches can resume from. */
  readonly windowChanges: number;
  readonly windowBytes: number;
}

export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly revision: Revision;
  readonly remaining: number;
}

export interface HistoryBegin {
  readonly start: Revision;
  /** The latest revision that this replica has seen of the previous one. */
  readonly previousEnd: Revision;
  /** Whether it is known to be another one. */
  readonly isProven: boolean;
}

/** What the collections of a cache share. */
export interface CollectionOptions {
  readonly store: FollowedStore;
  readonly freshness: Freshness;
  readonly clock: Clock;
  /** For readers of the history. */
  readonly places: Places;
}

/** A view from before more changes than this is read from the store: undoing each change costs some microseconds. */
const undoChangesMax = 5_000;

/** Many lists of this size may arrive in one event-loop iteration, so they share time slices from the first object on. */
const largeListMin = 100;

/** The objects below one prefix in memory, with their latest changes, as readers see them. */
export class Collection<Item extends CacheItem> {
  readonly #state: CollectionState<Item>;
  readonly #store: FollowedStore;
  readonly #freshness: Freshness;
  readonly #clock: Clock;
  readonly #places: Places;
  /** Revisions before this one may belong to another history. */
  #historyStart = zeroRevision;
  /** The number of the latest history of which is known that it is another one than before. */
  #provenHistory = 0;
  /** The latest revision that was seen of previous histories. */
  #previousEnd = zeroRevision;
  /** The latest write to this collection that this replica has acknowledged. */
  #lastLocalWrite = zeroRevision;

  constructor(state: CollectionState<Item>, { store, freshness, clock, places }: CollectionOptions) {
    this.#state = state;
    this.#store = store;
    this.#freshness = freshness;
    this.#clock = clock;
    this.#places = places;
  }

  get descriptor(): CollectionDescriptor<Item> {
    return this.#state.descriptor;
  }

  /** The same object for all collections of one store: their changes have one order, and their revisions can be compared. */
  get feed(): object {
    return this.#freshness;
  }

  /** The memory contains all changes up to this revision. */
  get currentRevision(): Revision {
    return this.#freshness.currentRevision;
  }

  get statistics(): CollectionStatistics {
    const { contents, window, counts } = this.#state;
    return { ...counts, objects: contents.size, windowChanges: window.count, windowBytes: window.weight };
  }

  /** Whether it has been loaded and is neither suspended nor detached. */
  get isReady(): boolean {
    return this.#state.isReady;
  }

  /** Whether a key is unavailable. */
  get isSuspended(): boolean {
    return this.#state.isSuspended;
  }

  get isDetached(): boolean {
    return this.#state.isDetached;
  }

  /**
   * Throws while the present history has not been loaded, a CollectionSuspendedError while a key is unavailable, and a
   * CollectionDetachedError once it is detached.
   */
  requireServed(): void {
    this.#freshness.requireLoaded();
    if (this.#state.error) throw this.#state.error;
  }

  /**
   * Waits until the memory is fresh enough: as everything acknowledged before (undefined), as a revision, or as the writes
   * below the prefix by this replica (`any`), which is nearly always at once and then returns undefined. A revision in the future rejects with a
   * RevisionTooLargeError, or with a RevisionReplacedError if a previous history had it.
   */
  waitUntilFresh(wanted: Revision | 'any' | undefined, call: Call): Promise<void> | undefined {
    const { measures } = this.descriptor;
    if (wanted === undefined) return this.#freshness.waitForLatest(call, measures?.consistent);
    if (wanted === 'any') return this.#freshness.waitForLocalWrite(this.#lastLocalWrite, call);
    const waiting = this.#freshness.waitForRevision(wanted, call, measures?.notOlder);
    return this.#mayBePrevious(wanted) ? this.#distrust(wanted, waiting) : waiting;
  }

  /** A revision that the present history has not reached was one of the previous history. */
  async #distrust(asked: Revision, waiting: Promise<void>): Promise<void> {
    try {
      await waiting;
    } catch (error) {
      throw error instanceof RevisionTooLargeError
        ? new RevisionReplacedError(asked, undefined, { cause: error })
        : error;
    }
  }

  /** This replica has acknowledged a write below the prefix at this revision. */
  noteLocalWrite(at: Revision): void {
    if (at > this.#lastLocalWrite) this.#lastLocalWrite = at;
  }

  /** Whether the memory contains all writes below the prefix by this replica. Throws while it is not served. */
  get hasLocalWrites(): boolean {
    this.requireServed();
    return this.#lastLocalWrite <= this.currentRevision && this.currentRevision > 0;
  }

  /** The number of the history that the collection belongs to. */
  get historyNumber(): number {
    return this.#store.historyNumber;
  }

  get(key: string): Item | undefined {
    this.requireServed();
    return this.#state.contents.get(key);
  }

  /** The present state. Throws while it is not served. */
  view(): View<Item> {
    this.requireServed();
    return { ...this.#state.contents.view(), revision: this.currentRevision };
  }

  /** How many items have an index term, of what is loaded. */
  countTerm(term: string): number {
    return this.#state.contents.countTerm(term);
  }

  /** The state at a revision up to the present one; undefined if memory does not reach back that far. */
  async viewAt(revision: Revision): Promise<View<Item> | undefined> {
    this.requireServed();
    const { contents, retainedViews, window } = this.#state;
    if (revision >= contents.revision) return { ...contents.view(), revision };
    const retained = retainedViews.get(revision);
    if (retained) return retained;
    const changes = window.after(revision, undoChangesMax + 1);
    if (!changes || changes.length > undoChangesMax) return undefined;
    const undoing = withoutChanges(contents.view(), changes, this.descriptor.termsOf, revision);
    const { epoch } = retainedViews;
    const view = await runTask(this.#clock, undefined, undoing);
    // A client that reads the same revision again does not cost this work each time.
    this.retainView(view, epoch);
    return view;
  }

  /** The epoch of the views that are made now: they are invalid in the next one. */
  get viewEpoch(): number {
    return this.#state.retainedViews.epoch;
  }

  /** Keeps a view of an epoch in memory, because a client will continue its list. */
  retainView(view: View<Item>, epoch: number): void {
    const { retainedViews, window } = this.#state;
    retainedViews.add(view, epoch);
    retainedViews.dropBefore(window.since);
  }

  /** Lists a part of the collection from the store, at a revision or at the latest one. */
  async listFromStore(
    range: { readonly within: string; readonly after?: string | undefined; readonly limit?: number | undefined },
    revision: Revision | undefined,
    call: Call,
  ): Promise<ListPage<Item>> {
    this.#requireSameHistory(revision);
    const { entries, ...page } = await this.#store.list(
      {
        prefix: fullKeyOf(this.descriptor, range.within),
        after: range.after === undefined ? undefined : fullKeyOf(this.descriptor, range.after),
        limit: range.limit,
        revision,
      },
      call,
    );
    const items = await runTask(
      this.#clock,
      call,
      decodeEntries(this.descriptor, entries),
      entries.length > largeListMin,
    );
    return { ...page, items };
  }

  /** The changes after a revision; undefined if memory does not reach back that far. A limit does not split revisions. */
  changesAfter(revision: Revision, limit?: number): readonly ItemChange<Item>[] | undefined {
    return this.#state.window.after(revision, limit);
  }

  /** Opens a reader of changes that memory no longer has, of the keys that begin with `within`. */
  readHistory(after: Revision, within: string, notify: () => void): HistoryReader<Item> {
    this.#requireSameHistory(after);
    const { descriptor, historyReaders } = this.#state;
    const reader: HistoryReader<Item> = new HistoryReader({
      clock: this.#clock,
      places: this.#places,
      open: (from, signal) => this.#store.watch(fullKeyOf(descriptor, within), from, signal),
      decode: (set) => decodeChanges(descriptor, set),
      notify,
      onClose: () => historyReaders.delete(reader),
    });
    historyReaders.add(reader);
    return reader;
  }

  subscribe(subscriber: Subscriber<Item>): () => void {
    const { subscribers } = this.#state;
    subscribers.add(subscriber);
    return () => subscribers.delete(subscriber);
  }

  /** Whether a revision is in the future, and one of a previous history had the same number. */
  #mayBePrevious(asked: Revision): boolean {
    return asked > this.currentRevision && asked <= this.#previousEnd;
  }

  /**
   * Rejects with a RevisionReplacedError if a revision is of a previous history. A watch from there would wait until the
   * present one has grown as far, and then miss changes. Another replica may have returned a future revision already, so
   * it is compared with the latest one.
   */
  async requirePresentHistory(asked: Revision, call: Call): Promise<void> {
    this.#requireSameHistory(asked);
    if (this.#mayBePrevious(asked)) await this.waitUntilFresh(asked, call);
  }

  /** Throws a RevisionReplacedError if a watch that began in a previous history cannot be resumed from what it has sent. */
  requireResumable(sent: Revision, historyNumber: number): void {
    if (historyNumber < this.#provenHistory) throw new RevisionReplacedError(sent, this.#historyStart);
    this.#requireKnown(sent);
  }

  /** Another history begins, of which no revision before `start` is known to clients. */
  noteHistory({ start, previousEnd, isProven }: HistoryBegin): void {
    this.#historyStart = start;
    if (isProven) this.#provenHistory = this.historyNumber;
    if (previousEnd > this.#previousEnd) this.#previousEnd = previousEnd;
    this.#lastLocalWrite = zeroRevision;
  }

  #requireSameHistory(asked: Revision | undefined): void {
    this.requireServed();
    if (asked !== undefined) this.#requireKnown(asked);
  }

  #requireKnown(asked: Revision): void {
    if (asked < this.#historyStart) throw new RevisionReplacedError(asked, this.#historyStart);
  }
}
