import { type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import { byteString, bytesOf } from '@cluster-apiserver/model';
import { RevisionCompactedError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call, ChangeSet, Entry, Store } from '../store.ts';
import { CatchUp, type CatchUpStatistics } from './catch-up.ts';
import type { CatchUpReader } from './catch-up-reader.ts';
import type { ReadObserver } from './fresh-reader.ts';
import type { Freshness } from './freshness.ts';
import type { Keyed } from './sorted-set.ts';
import { emptyView, type TermsOf, type View, buildView, withChange, withoutChanges } from './view.ts';
import { type ItemChange, ChangeWindow } from './change-window.ts';

/** One version of one object, as readers want it. */
export interface CacheItem extends Keyed {
  readonly revision: Revision;
  /** About how many bytes of memory it holds. */
  readonly weight: number;
}

/** What a collection holds, and how it makes it of what is stored. */
export interface CollectionDescriptor<Item extends CacheItem> {
  /** All keys of the collection begin with it. */
  readonly prefix: string;
  /** Must not throw: what cannot be read is an item that says so. `key` is the item's key. */
  readonly read: (entry: Entry, key: string) => Item;
  /** What an item can be found by besides its key. */
  readonly termsOf: TermsOf<Item>;
  readonly measures?: ReadMeasures | undefined;
}

/** How long reads waited for memory to be as fresh as they wanted it. */
export interface ReadMeasures {
  /** Of reads that see everything that was acknowledged before. */
  readonly consistent: ReadObserver;
  /** Of reads that want a revision, or a later one. */
  readonly notOlder: ReadObserver;
}

/** What is worth knowing of a collection, counted since it was opened. */
export interface CollectionStatistics {
  readonly objects: number;
  /** How often it was read anew, the first time included. */
  readonly initializations: number;
  readonly eventsReceived: number;
  /** Told to all who follow. */
  readonly eventsDispatched: number;
  /** What watches can resume from. */
  readonly windowChanges: number;
  readonly windowBytes: number;
  readonly catchUp: CatchUpStatistics;
}

/** The whole collection was read anew, or one object that could not be read before can be. */
export type ResetReason = 'read anew' | 'amended';

/** Told of each change at once and in order; must be quick. */
export interface Subscriber<Item> {
  onChange(change: ItemChange<Item>): void;
  /** Changes were missed, or are told differently now. */
  onReset(why: ResetReason): void;
}

/** Some of the changes of a collection, complete up to a revision. */
export interface Changes<Item> {
  readonly revision: Revision;
  readonly changes: readonly ItemChange<Item>[];
}

export interface ListPage<Item> {
  readonly items: readonly Item[];
  readonly revision: Revision;
  readonly remaining: number;
}

/** A view from before more changes than this is read from the store: to take back each costs some microseconds. */
const undoChangesMax = 5_000;

/** Memory that only the window holds: what there was before each change. */
const windowWeightMax = 32 * 1024 * 1024;

/** As kube-apiserver: longer than a client of an idle watch is behind, which is sent a bookmark each minute. */
const windowAgeMs = 75_000;

/** As much is kept however old it is: clients of a quiet kind come back after hours. */
const windowWeightKept = 4 * 1024 * 1024;

/** Old changes are dropped so often. */
const trimIntervalMs = 5_000;

/** Views that clients may come back to, page by page. Memory holds what changed since, which the window holds anyway. */
const retainedViewsMax = 64;

/**
 * The objects below one prefix, in memory, with the changes of late. Keys of items are what follows the prefix, as
 * bytes, so that their order is that of the store.
 */
export class Collection<Item extends CacheItem> {
  readonly descriptor: CollectionDescriptor<Item>;
  readonly #store: Store;
  readonly #freshness: Freshness;
  readonly #clock: Clock;
  readonly #window = new ChangeWindow<Item>({
    weightMax: windowWeightMax,
    weightOf: ({ previous }) => previous?.weight ?? 0,
  });
  readonly #catchUp: CatchUp<Item>;
  readonly #subscribers = new Set<Subscriber<Item>>();
  readonly #retainedViews = new Map<Revision, View<Item>>();
  #view: View<Item>;
  /** The items of the view by their keys: most reads want one, and find it here several times faster. */
  #itemsByKey = new Map<string, Item>();
  /** What was read before this revision may be of another history. */
  #historyStart = revision(0);
  /** The latest write that was acknowledged here. */
  #lastLocalWrite = revision(0);
  #isResetScheduled = false;
  #cancelTrim: (() => void) | undefined;
  #initializations = 0;
  #eventsReceived = 0;
  #eventsDispatched = 0;

  constructor(form: CollectionDescriptor<Item>, store: Store, freshness: Freshness, clock: Clock) {
    this.descriptor = form;
    this.#store = store;
    this.#freshness = freshness;
    this.#clock = clock;
    this.#view = emptyView(freshness.currentRevision);
    this.#catchUp = new CatchUp((after, signal) => this.#replay(after, signal), clock);
  }

  /** How far the memory has come: there is no change up to this revision that it does not know. */
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
   * Resolves when the memory is as fresh as asked: as everything acknowledged before (undefined), as a revision, which
   * throws RevisionTooLargeError when it lies in the future, or as what was told here before (`any`). The last is
   * nearly always at once, and then undefined.
   */
  waitUntilFresh(wanted: Revision | 'any' | undefined, call: Call): Promise<void> | undefined {
    const { measures } = this.descriptor;
    if (wanted === undefined) return this.#freshness.waitForLatest(call, measures?.consistent);
    return wanted === 'any'
      ? this.#freshness.waitForLocalWrites(call)
      : this.#freshness.waitForRevision(wanted, call, measures?.notOlder);
  }

  /** A write below the prefix was acknowledged at this revision. */
  noteLocalWrite(at: Revision): void {
    this.#freshness.noteLocalWrite(at);
    if (at > this.#lastLocalWrite) this.#lastLocalWrite = at;
  }

  /** Whether the memory has come to every write below the prefix that was acknowledged here. Throws while nothing is known. */
  get hasLocalWrites(): boolean {
    this.#freshness.requireLoaded();
    return this.#lastLocalWrite <= this.currentRevision && this.currentRevision > 0;
  }

  /** The number of the history that the collection is of. */
  get historyNumber(): number {
    return this.#store.historyNumber;
  }

  /** Throws while nothing is known of the present history. */
  requireLoaded(): void {
    this.#freshness.requireLoaded();
  }

  get(key: string): Item | undefined {
    this.#freshness.requireLoaded();
    return this.#itemsByKey.get(key);
  }

  /** All there is now. */
  view(): View<Item> {
    this.#freshness.requireLoaded();
    return { ...this.#view, revision: this.currentRevision };
  }

  /** The collection as of a revision that the memory has come to; undefined when that lies too far back for it. */
  async viewAt(revision: Revision): Promise<View<Item> | undefined> {
    this.#freshness.requireLoaded();
    if (revision >= this.#view.revision) return { ...this.#view, revision };
    const kept = this.#retainedViews.get(revision);
    if (kept) return kept;
    const since = this.#window.after(revision, undoChangesMax + 1);
    if (!since || since.length > undoChangesMax) return undefined;
    return runTask(this.#clock, undefined, withoutChanges(this.#view, since, this.descriptor.termsOf, revision));
  }

  /** Somebody will come back for the rest of this view. */
  retainView(view: View<Item>): void {
    this.#retainedViews.set(view.revision, view);
    this.#dropRetainedViews(this.#retainedViews.size > retainedViewsMax);
  }

  /** A part of the collection as the store knew it at a revision, or knows it now. */
  async listFromStore(
    range: { readonly within: string; readonly after?: string | undefined; readonly limit?: number | undefined },
    revision: Revision | undefined,
    call: Call,
  ): Promise<ListPage<Item>> {
    this.#requireSameHistory(revision);
    const { entries, ...page } = await this.#store.list(
      {
        prefix: this.#fullKey(range.within),
        after: range.after === undefined ? undefined : this.#fullKey(range.after),
        limit: range.limit,
        revision,
      },
      call,
    );
    return { ...page, items: await runTask(this.#clock, call, this.#decodeAll(entries)) };
  }

  /** The changes after a revision, whole revisions from a limit on; undefined when it is too old for the memory. */
  changesAfter(revision: Revision, limit?: number): readonly ItemChange<Item>[] | undefined {
    return this.#window.after(revision, limit);
  }

  /** A reader of the changes after a revision that memory no longer has. It is notified in a turn of its own. */
  openCatchUp(after: Revision, notify: () => void): CatchUpReader<Item> {
    this.#requireSameHistory(after);
    return this.#catchUp.open(after, notify);
  }

  async *#replay(after: Revision, signal: AbortSignal): AsyncGenerator<() => Changes<Item>> {
    for await (const set of this.#store.watch(this.descriptor.prefix, after, signal))
      yield () => this.#decodeChanges(set);
  }

  #decodeChanges({ revision, changes }: ChangeSet): Changes<Item> {
    return {
      revision,
      changes: changes.map(({ key, previous, current }) => ({
        key: this.#itemKeyOf(key),
        revision,
        previous: previous && this.#decode(previous),
        current: current && this.#decode(current),
      })),
    };
  }

  close(): void {
    this.#cancelTrim?.();
  }

  /** Drops what is too old, again and again while there is much. A quiet collection has no timer. */
  #scheduleTrim(): void {
    if (this.#window.weight <= windowWeightKept || this.#cancelTrim) return;
    this.#cancelTrim = this.#clock.after(trimIntervalMs, () => {
      this.#cancelTrim = undefined;
      this.#window.trim(this.#clock.monotonicMs(), windowAgeMs, windowWeightKept);
      this.#dropRetainedViews(false);
      this.#scheduleTrim();
    });
  }

  subscribe(follower: Subscriber<Item>): () => void {
    this.#subscribers.add(follower);
    return () => this.#subscribers.delete(follower);
  }

  /** Something happened below the prefix. */
  apply(key: string, entry: Entry | undefined, revision: Revision): void {
    this.#eventsReceived++;
    const itemKey = this.#itemKeyOf(key);
    const previous = this.#itemsByKey.get(itemKey);
    const current = entry && this.descriptor.read(entry, itemKey);
    this.#view = withChange(this.#view, previous, current, this.descriptor.termsOf, revision);
    if (current) this.#itemsByKey.set(itemKey, current);
    else this.#itemsByKey.delete(itemKey);
    const change = { key: itemKey, revision, previous, current };
    this.#window.add(change);
    this.#scheduleTrim();
    if (this.#retainedViews.size > 0) this.#dropRetainedViews(false);
    for (const follower of this.#subscribers) follower.onChange(change);
    this.#eventsDispatched++;
  }

  /**
   * What could not be read can be: it is the same version of the object, so it is told in the place of the other. It
   * may have been replaced meanwhile, and is told of all the same; or it is known now that it cannot be read.
   */
  resolveUnreadable(entry: Entry): void {
    if (!entry.unreadable) {
      const is = this.#decode(entry);
      const newest = this.#itemsByKey.get(is.key);
      if (newest?.revision === is.revision) {
        this.#itemsByKey.set(is.key, is);
        this.#view = withChange(this.#view, newest, is, this.descriptor.termsOf, this.#view.revision);
        this.#retainedViews.clear();
      }
      this.#window.replaceItem(is);
    }
    // Many become readable together, such as when a plugin is back: followers begin again once for all of them.
    if (this.#isResetScheduled) return;
    this.#isResetScheduled = true;
    this.#clock.soon(() => {
      this.#isResetScheduled = false;
      for (const follower of this.#subscribers) follower.onReset('amended');
    });
  }

  /** Another history begins. Whoever follows is interrupted now, and comes upon that by itself. */
  replaceHistory(now: Revision): void {
    this.#itemsByKey = new Map();
    this.#view = emptyView(this.currentRevision);
    this.#retainedViews.clear();
    this.#window.restartAt(now);
    this.#historyStart = now;
    this.#lastLocalWrite = revision(0);
    for (const follower of this.#subscribers) follower.onReset('read anew');
  }

  #requireSameHistory(asked: Revision | undefined): void {
    this.#freshness.requireLoaded();
    if (asked !== undefined && asked < this.#historyStart) throw new RevisionCompactedError(asked, this.#historyStart);
  }

  /**
   * Begins again from all there is at a revision, which is given bit by bit, in the order of the keys. Nothing of it
   * is seen before `prepare` has been run and what it gives is called.
   */
  reload(): { add(entry: Entry): void; prepare(revision: Revision): SyncTask<() => void> } {
    const newest = new Map<string, Item>();
    return {
      add: (entry) => {
        const item = this.#decode(entry);
        newest.set(item.key, item);
      },
      prepare: (revision) => this.#prepare(newest, revision),
    };
  }

  *#prepare(newest: Map<string, Item>, revision: Revision): SyncTask<() => void> {
    const items = { [Symbol.iterator]: () => newest.values() };
    const view = yield* buildView(items, this.descriptor.termsOf, revision);
    return () => {
      this.#initializations++;
      this.#itemsByKey = newest;
      this.#view = view;
      this.#retainedViews.clear();
      this.#window.restartAt(revision);
      for (const follower of this.#subscribers) follower.onReset('read anew');
    };
  }

  /** The oldest, or those that alone hold what they hold. */
  #dropRetainedViews(one: boolean): void {
    for (const revision of this.#retainedViews.keys()) {
      if (!one && revision >= this.#window.since) return;
      this.#retainedViews.delete(revision);
      if (one) return;
    }
  }

  *#decodeAll(entries: readonly Entry[]): SyncTask<Item[]> {
    const items: Item[] = [];
    for (const entry of entries) {
      items.push(this.#decode(entry));
      yield;
    }
    return items;
  }

  #decode(entry: Entry): Item {
    return this.descriptor.read(entry, this.#itemKeyOf(entry.key));
  }

  #itemKeyOf(key: string): string {
    return itemKey(key.slice(this.descriptor.prefix.length));
  }

  #fullKey(key: string): string {
    return this.descriptor.prefix + textOfItemKey(key);
  }
}

/** The key of an item, of the text behind the prefix: its bytes, one character each, and in one piece. */
export const itemKey = (text: string): string => byteString(Buffer.from(text));

export const textOfItemKey = (key: string): string =>
  Buffer.byteLength(key) === key.length ? key : bytesOf(key).toString();
