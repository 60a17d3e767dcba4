import { type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import { byteString, bytesOf } from '@cluster-apiserver/model';
import { RevisionCompactedError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { Call, ChangeSet, Entry, Store } from '../store.ts';
import { CatchUp, type CatchUpReader, type CatchUpStatistics } from './catch-up.ts';
import type { Freshness, ReadObserver } from './freshness.ts';
import type { Keyed } from './sorted-set.ts';
import { emptyView, type TermsOf, type View, viewOf, withChange, withoutChanges } from './view.ts';
import { type ItemChange, Window } from './window.ts';

/** One version of one object, as readers want it. */
export interface CacheItem extends Keyed {
  readonly revision: Revision;
  /** About how many bytes of memory it holds. */
  readonly weight: number;
}

/** What a collection holds, and how it makes it of what is stored. */
export interface CollectionForm<Item extends CacheItem> {
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
export type Interruption = 'read anew' | 'amended';

/** Told of each change at once and in order; must be quick. */
export interface Follower<Item> {
  changed(change: ItemChange<Item>): void;
  /** Changes were missed, or are told differently now. */
  interrupted(why: Interruption): void;
}

/** Some of the changes of a collection, complete up to a revision. */
export interface Changes<Item> {
  readonly revision: Revision;
  readonly changes: readonly ItemChange<Item>[];
}

export interface PastPage<Item> {
  readonly items: readonly Item[];
  readonly revision: Revision;
  readonly remaining: number;
}

/** A view from before more changes than this is read from the store: to take back each costs some microseconds. */
const undoneMax = 5_000;

/** Memory that only the window holds: what there was before each change. */
const windowWeightMax = 32 * 1024 * 1024;

/** As kube-apiserver: longer than a client of an idle watch is behind, which is sent a bookmark each minute. */
const windowAgeMs = 75_000;

/** As much is kept however old it is: clients of a quiet kind come back after hours. */
const windowWeightKept = 4 * 1024 * 1024;

/** Old changes are dropped so often. */
const trimIntervalMs = 5_000;

/** Views that clients may come back to, page by page. Memory holds what changed since, which the window holds anyway. */
const keptMax = 64;

/**
 * The objects below one prefix, in memory, with the changes of late. Keys of items are what follows the prefix, as
 * bytes, so that their order is that of the store.
 */
export class Collection<Item extends CacheItem> {
  readonly form: CollectionForm<Item>;
  readonly #store: Store;
  readonly #freshness: Freshness;
  readonly #clock: Clock;
  readonly #window = new Window<Item>({
    weightMax: windowWeightMax,
    weightOf: ({ previous }) => previous?.weight ?? 0,
  });
  readonly #catchUp: CatchUp<Item>;
  readonly #followers = new Set<Follower<Item>>();
  readonly #kept = new Map<Revision, View<Item>>();
  #view: View<Item>;
  /** The items of the view by their keys: most reads want one, and find it here several times faster. */
  #newest = new Map<string, Item>();
  /** What was read before this revision may be of another history. */
  #historyFrom = revision(0);
  /** The latest write that was acknowledged here. */
  #wroteAt = revision(0);
  #interrupting = false;
  #cancelTrim: (() => void) | undefined;
  #initializations = 0;
  #eventsReceived = 0;
  #eventsDispatched = 0;

  constructor(form: CollectionForm<Item>, store: Store, freshness: Freshness, clock: Clock) {
    this.form = form;
    this.#store = store;
    this.#freshness = freshness;
    this.#clock = clock;
    this.#view = emptyView(freshness.reached);
    this.#catchUp = new CatchUp((after, signal) => this.#replay(after, signal), clock);
  }

  /** How far the memory has come: there is no change up to this revision that it does not know. */
  get reached(): Revision {
    return this.#freshness.reached;
  }

  get statistics(): CollectionStatistics {
    return {
      objects: this.#newest.size,
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
  reach(wanted: Revision | 'any' | undefined, call: Call): Promise<void> | undefined {
    const { measures } = this.form;
    if (wanted === undefined) return this.#freshness.newest(call, measures?.consistent);
    return wanted === 'any' ? this.#freshness.told(call) : this.#freshness.atLeast(wanted, call, measures?.notOlder);
  }

  /** A write below the prefix was acknowledged at this revision. */
  wrote(at: Revision): void {
    this.#freshness.wrote(at);
    if (at > this.#wroteAt) this.#wroteAt = at;
  }

  /** Whether the memory has come to every write below the prefix that was acknowledged here. Throws while nothing is known. */
  get knowsLocalWrites(): boolean {
    this.#freshness.requireKnown();
    return this.#wroteAt <= this.reached && this.reached > 0;
  }

  /** The number of the history that the collection is of. */
  get history(): number {
    return this.#store.history;
  }

  /** Throws while nothing is known of the present history. */
  requireKnown(): void {
    this.#freshness.requireKnown();
  }

  get(key: string): Item | undefined {
    this.#freshness.requireKnown();
    return this.#newest.get(key);
  }

  /** All there is now. */
  view(): View<Item> {
    this.#freshness.requireKnown();
    return { ...this.#view, revision: this.reached };
  }

  /** The collection as of a revision that the memory has come to; undefined when that lies too far back for it. */
  async viewAt(revision: Revision): Promise<View<Item> | undefined> {
    this.#freshness.requireKnown();
    if (revision >= this.#view.revision) return { ...this.#view, revision };
    const kept = this.#kept.get(revision);
    if (kept) return kept;
    const since = this.#window.after(revision, undoneMax + 1);
    if (!since || since.length > undoneMax) return undefined;
    return runTask(this.#clock, undefined, withoutChanges(this.#view, since, this.form.termsOf, revision));
  }

  /** Somebody will come back for the rest of this view. */
  keep(view: View<Item>): void {
    this.#kept.set(view.revision, view);
    this.#dropKept(this.#kept.size > keptMax);
  }

  /** A part of the collection as the store knew it at a revision, or knows it now. */
  async readPast(
    range: { readonly within: string; readonly after?: string | undefined; readonly limit?: number | undefined },
    revision: Revision | undefined,
    call: Call,
  ): Promise<PastPage<Item>> {
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
    return { ...page, items: await runTask(this.#clock, call, this.#readAll(entries)) };
  }

  /** The changes after a revision, whole revisions from a limit on; undefined when it is too old for the memory. */
  changesAfter(revision: Revision, limit?: number): readonly ItemChange<Item>[] | undefined {
    return this.#window.after(revision, limit);
  }

  /** A reader of the changes after a revision that memory no longer has. It is notified in a turn of its own. */
  catchUp(after: Revision, notify: () => void): CatchUpReader<Item> {
    this.#requireSameHistory(after);
    return this.#catchUp.open(after, notify);
  }

  async *#replay(after: Revision, signal: AbortSignal): AsyncGenerator<() => Changes<Item>> {
    for await (const set of this.#store.watch(this.form.prefix, after, signal)) yield () => this.#changesOf(set);
  }

  #changesOf({ revision, changes }: ChangeSet): Changes<Item> {
    return {
      revision,
      changes: changes.map(({ key, previous, current }) => ({
        key: this.#keyOf(key),
        revision,
        previous: previous && this.#read(previous),
        current: current && this.#read(current),
      })),
    };
  }

  close(): void {
    this.#cancelTrim?.();
  }

  /** Drops what is too old, again and again while there is much. A quiet collection has no timer. */
  #trimLater(): void {
    if (this.#window.weight <= windowWeightKept || this.#cancelTrim) return;
    this.#cancelTrim = this.#clock.after(trimIntervalMs, () => {
      this.#cancelTrim = undefined;
      this.#window.trim(this.#clock.monotonicMs(), windowAgeMs, windowWeightKept);
      this.#dropKept(false);
      this.#trimLater();
    });
  }

  follow(follower: Follower<Item>): () => void {
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Something happened below the prefix. */
  apply(key: string, entry: Entry | undefined, revision: Revision): void {
    this.#eventsReceived++;
    const itemKey = this.#keyOf(key);
    const previous = this.#newest.get(itemKey);
    const current = entry && this.form.read(entry, itemKey);
    this.#view = withChange(this.#view, previous, current, this.form.termsOf, revision);
    if (current) this.#newest.set(itemKey, current);
    else this.#newest.delete(itemKey);
    const change = { key: itemKey, revision, previous, current };
    this.#window.add(change);
    this.#trimLater();
    if (this.#kept.size > 0) this.#dropKept(false);
    for (const follower of this.#followers) follower.changed(change);
    this.#eventsDispatched++;
  }

  /**
   * What could not be read can be: it is the same version of the object, so it is told in the place of the other. It
   * may have been replaced meanwhile, and is told of all the same; or it is known now that it cannot be read.
   */
  amend(entry: Entry): void {
    if (!entry.unreadable) {
      const is = this.#read(entry);
      const newest = this.#newest.get(is.key);
      if (newest?.revision === is.revision) {
        this.#newest.set(is.key, is);
        this.#view = withChange(this.#view, newest, is, this.form.termsOf, this.#view.revision);
        this.#kept.clear();
      }
      this.#window.amend(is);
    }
    // Many become readable together, such as when a plugin is back: followers begin again once for all of them.
    if (this.#interrupting) return;
    this.#interrupting = true;
    this.#clock.soon(() => {
      this.#interrupting = false;
      for (const follower of this.#followers) follower.interrupted('amended');
    });
  }

  /** Another history begins. Whoever follows is interrupted now, and comes upon that by itself. */
  forget(now: Revision): void {
    this.#newest = new Map();
    this.#view = emptyView(this.reached);
    this.#kept.clear();
    this.#window.beginAt(now);
    this.#historyFrom = now;
    this.#wroteAt = revision(0);
    for (const follower of this.#followers) follower.interrupted('read anew');
  }

  #requireSameHistory(asked: Revision | undefined): void {
    this.#freshness.requireKnown();
    if (asked !== undefined && asked < this.#historyFrom) throw new RevisionCompactedError(asked, this.#historyFrom);
  }

  /**
   * Begins again from all there is at a revision, which is given bit by bit, in the order of the keys. Nothing of it
   * is seen before `prepare` has been run and what it gives is called.
   */
  reload(): { add(entry: Entry): void; prepare(revision: Revision): SyncTask<() => void> } {
    const newest = new Map<string, Item>();
    return {
      add: (entry) => {
        const item = this.#read(entry);
        newest.set(item.key, item);
      },
      prepare: (revision) => this.#prepare(newest, revision),
    };
  }

  *#prepare(newest: Map<string, Item>, revision: Revision): SyncTask<() => void> {
    const items = { [Symbol.iterator]: () => newest.values() };
    const view = yield* viewOf(items, this.form.termsOf, revision);
    return () => {
      this.#initializations++;
      this.#newest = newest;
      this.#view = view;
      this.#kept.clear();
      this.#window.beginAt(revision);
      for (const follower of this.#followers) follower.interrupted('read anew');
    };
  }

  /** The oldest, or those that alone hold what they hold. */
  #dropKept(one: boolean): void {
    for (const revision of this.#kept.keys()) {
      if (!one && revision >= this.#window.since) return;
      this.#kept.delete(revision);
      if (one) return;
    }
  }

  *#readAll(entries: readonly Entry[]): SyncTask<Item[]> {
    const items: Item[] = [];
    for (const entry of entries) {
      items.push(this.#read(entry));
      yield;
    }
    return items;
  }

  #read(entry: Entry): Item {
    return this.form.read(entry, this.#keyOf(entry.key));
  }

  #keyOf(key: string): string {
    return itemKey(key.slice(this.form.prefix.length));
  }

  #fullKey(key: string): string {
    return this.form.prefix + textOfKey(key);
  }
}

/** The key of an item, of the text behind the prefix: its bytes, one character each, and in one piece. */
export const itemKey = (text: string): string => byteString(Buffer.from(text));

export const textOfKey = (key: string): string =>
  Buffer.byteLength(key) === key.length ? key : bytesOf(key).toString();
