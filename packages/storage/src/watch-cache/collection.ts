import { type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import { HistoryReplacedError, RevisionReplacedError, RevisionTooLargeError } from '../errors.ts';
import { type Revision, zeroRevision } from '../revision.ts';
import type { Call, Entry, Store, UnreadableEntry } from '../store.ts';
import { awaitBeforeDeadline } from '../transform/await-before-deadline.ts';
import { CatchUp, type CatchUpStatistics } from './catch-up.ts';
import type { CatchUpReader, CatchUpReaderOptions } from './catch-up-reader.ts';
import type { CacheItem, CollectionDescriptor } from './collection-descriptor.ts';
import { EntryDecoder, type ReplayedChanges } from './entry-decoder.ts';
import type { Freshness } from './freshness.ts';
import { completeEntry, isLate } from './late-entry.ts';
import { RetainedViews } from './retained-views.ts';
import { LargeList } from './large-list.ts';
import { LargeMap } from './large-map.ts';
import { emptyView, type View, buildView, withChange, withoutChanges } from './view.ts';
import { type ItemChange, ChangeWindow } from './change-window.ts';

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
  readonly catchUp: CatchUpStatistics;
}

/** The collection was loaded again, or an unreadable object has become readable or was refused for good. */
export type ResetReason = 'reloaded' | 'amended';

/** Receives each change synchronously and in order, so it must be quick. */
export interface Subscriber<Item> {
  onChange(change: ItemChange<Item>): void;
  /** Changes were missed, or earlier ones have changed. */
  onReset(why: ResetReason): void;
}

export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly revision: Revision;
  readonly remaining: number;
  /**
   * Waits for an unreadable item whose key takes long; undefined if the key of an item has been refused. Rejects with a
   * KeyUnavailableError at the deadline of the list.
   */
  completeItem(key: string): Promise<Item> | undefined;
}

/** A view from before more changes than this is read from the store: undoing each change costs some microseconds. */
const undoChangesMax = 5_000;

/** Many lists of this size may arrive in one turn of the event loop, so they share time slices from the first object on. */
const largeListMin = 100;

/** The weight of the previous versions of objects, which only the window keeps. */
const windowWeightMax = 32 * 1024 * 1024;

/** As in kube-apiserver. An idle watch gets a bookmark each minute, so its client is never further behind. */
const windowAgeMs = 75_000;

/** This much is kept however old it is, because clients of a quiet kind return after hours. */
const windowWeightKept = 4 * 1024 * 1024;

const trimIntervalMs = 5_000;

/**
 * Subscribers restart after each amendment, and the values of a KMS plugin that has recovered become readable over many
 * turns of the event loop.
 */
const amendmentIntervalMs = 50;

/** The objects below one prefix in memory, with their latest changes. */
export class Collection<Item extends CacheItem> {
  readonly descriptor: CollectionDescriptor<Item>;
  readonly #decoder: EntryDecoder<Item>;
  readonly #store: Store;
  readonly #freshness: Freshness;
  readonly #clock: Clock;
  readonly #window = new ChangeWindow<Item>({
    weightMax: windowWeightMax,
    weightOf: ({ previous }) => previous?.weight ?? 0,
  });
  readonly #catchUp: CatchUp<Item>;
  readonly #subscribers = new Set<Subscriber<Item>>();
  readonly #retainedViews = new RetainedViews<Item>();
  #view: View<Item>;
  /** The items of the view by key, because most reads get a single item and this is several times faster. */
  #itemsByKey = new LargeMap<Item>();
  /** Revisions before this one may belong to another history. */
  #historyStart = zeroRevision;
  /** The latest revision that was seen of previous histories. */
  #previousEnd = zeroRevision;
  /** The latest write to this collection that this replica has acknowledged. */
  #lastLocalWrite = zeroRevision;
  /** The latest change of an object whose version before could not be read, and is read again by no retry. */
  #lastUnread = zeroRevision;
  #isResetScheduled = false;
  /** When subscribers last learned of an amendment. */
  #amendedMs = Number.NEGATIVE_INFINITY;
  #cancelReset: (() => void) | undefined;
  #cancelTrim: (() => void) | undefined;
  #initializations = 0;
  #eventsReceived = 0;
  #eventsDispatched = 0;

  constructor(descriptor: CollectionDescriptor<Item>, store: Store, freshness: Freshness, clock: Clock) {
    this.descriptor = descriptor;
    this.#decoder = new EntryDecoder(descriptor);
    this.#store = store;
    this.#freshness = freshness;
    this.#clock = clock;
    this.#view = emptyView(freshness.currentRevision);
    this.#catchUp = new CatchUp((after, signal) => this.#replay(after, signal), clock);
  }

  /** The memory contains all changes up to this revision. */
  get currentRevision(): Revision {
    return this.#freshness.currentRevision;
  }

  get statistics(): CollectionStatistics {
    return {
      objects: this.#itemsByKey.size,
      initializations: this.#initializations,
      eventsReceived: this.#eventsReceived,
      eventsDispatched: this.#eventsDispatched,
      windowChanges: this.#window.count,
      windowBytes: this.#window.weight,
      catchUp: this.#catchUp.statistics,
    };
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

  /** Whether the memory contains all writes below the prefix by this replica. Throws while nothing is loaded. */
  get hasLocalWrites(): boolean {
    this.#freshness.requireLoaded();
    return this.#lastLocalWrite <= this.currentRevision && this.currentRevision > 0;
  }

  /** The number of the history that the collection belongs to. */
  get historyNumber(): number {
    return this.#store.historyNumber;
  }

  /** Throws while the present history has not been loaded. */
  requireLoaded(): void {
    this.#freshness.requireLoaded();
  }

  get(key: string): Item | undefined {
    this.#freshness.requireLoaded();
    return this.#itemsByKey.get(key);
  }

  /** The present state. */
  view(): View<Item> {
    this.#freshness.requireLoaded();
    return { ...this.#view, revision: this.currentRevision };
  }

  /** How many items have an index term, of what is loaded. */
  countTerm(term: string): number {
    return this.#view.terms.get(term)?.items.size ?? 0;
  }

  /** The state at a revision up to the present one; undefined if memory does not reach back that far. */
  async viewAt(revision: Revision): Promise<View<Item> | undefined> {
    this.#freshness.requireLoaded();
    if (revision >= this.#view.revision) return { ...this.#view, revision };
    const retained = this.#retainedViews.get(revision);
    if (retained) return retained;
    const changes = this.#window.after(revision, undoChangesMax + 1);
    if (!changes || changes.length > undoChangesMax) return undefined;
    const undoing = withoutChanges(this.#view, changes, this.descriptor.termsOf, revision);
    const { epoch } = this.#retainedViews;
    const view = await runTask(this.#clock, undefined, undoing);
    // A client that reads the same revision again does not cost this work each time.
    this.retainView(view, epoch);
    return view;
  }

  /** The epoch of the views that are made now: they are invalid in the next one. */
  get viewEpoch(): number {
    return this.#retainedViews.epoch;
  }

  /** Keeps a view of an epoch in memory, because a client will continue its list. */
  retainView(view: View<Item>, epoch: number): void {
    this.#retainedViews.add(view, epoch);
    this.#retainedViews.dropBefore(this.#window.since);
  }

  /**
   * Lists a part of the collection from the store, at a revision or at the latest one. Items whose keys take long are
   * unreadable, and their decryption continues.
   */
  async listFromStore(
    range: { readonly within: string; readonly after?: string | undefined; readonly limit?: number | undefined },
    revision: Revision | undefined,
    call: Call,
  ): Promise<ListPage<Item>> {
    this.#requireSameHistory(revision);
    const { entries, ...page } = await this.#store.list(
      {
        prefix: this.#decoder.fullKey(range.within),
        after: range.after === undefined ? undefined : this.#decoder.fullKey(range.after),
        limit: range.limit,
        revision,
        slowKeys: 'defer',
      },
      call,
    );
    const items = await runTask(this.#clock, call, this.#decoder.decodeAll(entries), entries.length > largeListMin);
    const late = new Map(entries.filter(isLate).map((entry) => [this.#decoder.itemKeyOf(entry.key), entry]));
    return {
      ...page,
      items,
      completeItem: (key) => {
        const entry = late.get(key);
        return entry && this.#completeItem(entry, call);
      },
    };
  }

  async #completeItem(late: UnreadableEntry, call: Call): Promise<Item> {
    return this.#decoder.decode(await awaitBeforeDeadline(completeEntry(late), call, this.#clock));
  }

  /** The changes after a revision; undefined if memory does not reach back that far. A limit does not split revisions. */
  changesAfter(revision: Revision, limit?: number): readonly ItemChange<Item>[] | undefined {
    return this.#window.after(revision, limit);
  }

  /** Opens a reader of changes that memory no longer has. It is notified in a turn of its own. */
  openCatchUp(after: Revision, options: CatchUpReaderOptions): CatchUpReader<Item> {
    this.#requireSameHistory(after);
    return this.#catchUp.open(after, options);
  }

  async *#replay(after: Revision, signal: AbortSignal): AsyncGenerator<() => ReplayedChanges<Item>> {
    for await (const set of this.#store.watch(this.descriptor.prefix, after, signal))
      yield () => this.#decoder.decodeChanges(set);
  }

  close(): void {
    this.#cancelTrim?.();
    this.#cancelReset?.();
  }

  /** Drops old changes periodically while there are many. A quiet collection has no timer. */
  #scheduleTrim(): void {
    if (this.#window.weight <= windowWeightKept || this.#cancelTrim) return;
    this.#cancelTrim = this.#clock.after(trimIntervalMs, () => {
      this.#cancelTrim = undefined;
      this.#window.trim(this.#clock.monotonicMs(), windowAgeMs, windowWeightKept);
      this.#retainedViews.dropBefore(this.#window.since);
      this.#scheduleTrim();
    });
  }

  subscribe(subscriber: Subscriber<Item>): () => void {
    this.#subscribers.add(subscriber);
    return () => this.#subscribers.delete(subscriber);
  }

  /** Applies a change below the prefix. */
  apply(key: string, entry: Entry | undefined, revision: Revision): void {
    this.#eventsReceived++;
    const itemKey = this.#decoder.itemKeyOf(key);
    const previous = this.#itemsByKey.get(itemKey);
    const current = entry && this.descriptor.read(entry, itemKey);
    this.#view = withChange(this.#view, previous, current, this.descriptor.termsOf, revision);
    if (current) this.#itemsByKey.set(itemKey, current);
    else this.#itemsByKey.delete(itemKey);
    if (previous?.unreadable) this.#lastUnread = revision;
    const change = { key: itemKey, revision, previous, current };
    this.#window.add(change);
    this.#scheduleTrim();
    this.#retainedViews.dropBefore(this.#window.since);
    for (const subscriber of this.#subscribers) subscriber.onChange(change);
    this.#eventsDispatched++;
  }

  /**
   * An unreadable entry has become readable, or its decryption has ended with another refusal. It replaces the same version
   * of the object, in the window even if the object has changed since.
   */
  resolveUnreadable(entry: Entry): void {
    const item = this.#decoder.decode(entry);
    const present = this.#itemsByKey.get(item.key);
    const isPresent = present?.revision === item.revision;
    if (isPresent) {
      this.#itemsByKey.set(item.key, item);
      this.#view = withChange(this.#view, present, item, this.descriptor.termsOf, this.#view.revision);
      this.#retainedViews.clear();
    }
    this.#window.replaceItem(item, isPresent);
    this.#scheduleReset();
  }

  /**
   * Values that could not be read may be readable now. Replaced ones are not kept in order to be read again: watches get
   * their changes from the store, which has them as long as its history.
   */
  forgetUnread(): void {
    this.#catchUp.restart();
    if (this.#lastUnread <= this.#window.since) return;
    this.#window.dropThrough(this.#lastUnread);
    this.#retainedViews.dropBefore(this.#window.since);
    this.#scheduleReset();
  }

  /** A single amendment is reported in the next turn, and further ones at intervals. */
  #scheduleReset(): void {
    if (this.#isResetScheduled) return;
    this.#isResetScheduled = true;
    const pauseMs = this.#amendedMs + amendmentIntervalMs - this.#clock.monotonicMs();
    if (pauseMs > 0) this.#cancelReset = this.#clock.after(Math.ceil(pauseMs), () => this.#reportAmendment());
    else this.#clock.soon(() => this.#reportAmendment());
  }

  #reportAmendment(): void {
    this.#isResetScheduled = false;
    this.#amendedMs = this.#clock.monotonicMs();
    for (const subscriber of this.#subscribers) subscriber.onReset('amended');
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

  /**
   * Another history begins, of which `now` is the latest revision: empties the collection. Subscribers are reset and find
   * out the reason themselves.
   */
  replaceHistory({ before, now }: { readonly before: Revision; readonly now: Revision }): void {
    this.#itemsByKey = new LargeMap();
    this.#view = emptyView(this.currentRevision);
    this.#retainedViews.clear();
    this.#window.restartAt(now);
    this.#catchUp.replaceHistory(new HistoryReplacedError());
    this.#historyStart = now;
    if (before > this.#previousEnd) this.#previousEnd = before;
    this.#lastLocalWrite = zeroRevision;
    for (const subscriber of this.#subscribers) subscriber.onReset('reloaded');
  }

  #requireSameHistory(asked: Revision | undefined): void {
    this.#freshness.requireLoaded();
    if (asked !== undefined && asked < this.#historyStart) throw new RevisionReplacedError(asked, this.#historyStart);
  }

  /**
   * Loads the collection again. Entries are added in key order; `prepare` builds the view and returns a function that
   * publishes the new state.
   */
  reload(): { add(entry: Entry): void; prepare(revision: Revision): SyncTask<() => void> } {
    const items = new LargeList<Item>();
    const itemsByKey = new LargeMap<Item>();
    return {
      add: (entry) => {
        const item = this.#decoder.decode(entry);
        items.push(item);
        itemsByKey.set(item.key, item);
      },
      prepare: (revision) => this.#prepare(items, itemsByKey, revision),
    };
  }

  *#prepare(items: LargeList<Item>, itemsByKey: LargeMap<Item>, revision: Revision): SyncTask<() => void> {
    const view = yield* buildView(items, this.descriptor.termsOf, revision);
    return () => {
      this.#initializations++;
      this.#itemsByKey = itemsByKey;
      this.#view = view;
      this.#retainedViews.clear();
      this.#window.restartAt(revision);
      for (const subscriber of this.#subscribers) subscriber.onReset('reloaded');
    };
  }
}
