/**
 * Everything below a prefix in memory, in one order across all collections. One list and one watch feed it, and every write
 * below the prefix advances its revision. Lists and watches cannot disagree, because state, changes and revision advance
 * together in one turn of the event loop.
 */
import { backoff, callUntil, type Clock, type Loop, loopOf, type Random, sleep } from '@cluster-apiserver/base';
import { HistoryReplacedError, RevisionCompactedError } from '../errors.ts';
import type { HistoryReplaced } from '../etcd/history.ts';
import { type Revision, revision } from '../revision.ts';
import type { ChangeSet, Store } from '../store.ts';
import { Collection } from './collection.ts';
import type { CacheItem, CollectionDescriptor } from './collection-descriptor.ts';
import { Freshness } from './freshness.ts';
import { loadCollections } from './load-collections.ts';
import { UnreadableEntries } from './unreadable-entries.ts';

export interface WatchCacheOptions<Item extends CacheItem> {
  readonly store: Store;
  /** Of all collections, and of the store's internal keys. */
  readonly prefix: string;
  readonly collections: readonly CollectionDescriptor<Item>[];
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: WatchCacheEvent) => void;
  /** A watch that is behind and makes no progress for this long restarts: about etcd's election timeout. */
  readonly stallMs?: number;
}

export type WatchCacheEvent =
  | { readonly type: 'loaded'; readonly items: number; readonly revision: Revision; readonly tookMs: number }
  /** The cache lists again. Until then it serves stale reads only. */
  | { readonly type: 'lost'; readonly cause: unknown }
  /** The store has another history than before: the cache is emptied at once and loaded again. */
  | ({ readonly type: 'history replaced' } & HistoryReplaced);

export interface WatchCache<Item extends CacheItem> {
  /** In the order of the options. */
  readonly collections: readonly Collection<Item>[];
  /** Whether it is loaded and receives changes. */
  readonly isSynced: boolean;
  /** Why it is not synced; undefined during the first load. */
  readonly syncError: unknown;
  /** The cache contains all changes up to this revision. */
  readonly currentRevision: Revision;
  /** How long ago the store last reported its progress, with or without changes. */
  readonly progressAgeMs: number;
  /** How many reads wait for the cache. */
  readonly waitingReads: number;
  /** Resolves after the first load. */
  readonly firstLoad: Promise<void>;
  /** Decrypts unreadable values again, after keys were reloaded or a KMS plugin has recovered. */
  retryUnreadable(): void;
  close(): Promise<void>;
}

/**
 * A replica loads a state this many revisions ago and then receives the changes since. So clients that come from another
 * replica find the changes that they have missed in memory. More would delay the start by about 80 µs each.
 */
const historyRevisions = 5_000;

const latestRevisionTimeoutMs = 30_000;
const restartFirstMs = 20;
const restartMaxMs = 5_000;

export const openWatchCache = <Item extends CacheItem>(options: WatchCacheOptions<Item>): WatchCache<Item> =>
  new StoreFollower(options);

/** Loads all collections, and follows the store from the loaded revision on; again if it loses the watch. */
class StoreFollower<Item extends CacheItem> implements WatchCache<Item> {
  readonly collections: readonly Collection<Item>[];
  readonly #options: WatchCacheOptions<Item>;
  readonly #freshness: Freshness;
  readonly #unreadableEntries: UnreadableEntries;
  /** Lists and the watch deliver thousands of entries at once. */
  readonly #loop: Loop;
  readonly #firstLoad = Promise.withResolvers<void>();
  readonly #closing = new AbortController();
  readonly #stopListening: () => void;
  readonly #running: Promise<void>;
  #isSynced = false;
  #syncError: unknown;
  /** How often unreadable values were to be decrypted again. */
  #retries = 0;
  /** The first revision of the present history. Clients do not know earlier ones. */
  #historyStart = 0;
  /** Aborted if the history is replaced, which ends the present load and watch. */
  #round = new AbortController();

  constructor(options: WatchCacheOptions<Item>) {
    const { store, clock, stallMs } = options;
    const freshness = new Freshness({ store, clock, ...(stallMs !== undefined && { stallMs }) });
    this.#options = options;
    this.#freshness = freshness;
    this.collections = options.collections.map((descriptor) => new Collection(descriptor, store, freshness, clock));
    this.#unreadableEntries = new UnreadableEntries(
      (entry) => this.#collectionOf(entry.key)?.resolveUnreadable(entry),
      clock,
    );
    this.#loop = loopOf(clock);
    this.#stopListening = store.onHistoryReplaced((replaced) => this.#replaceHistory(replaced));
    this.#running = this.#run();
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  get syncError(): unknown {
    return this.#syncError;
  }

  get currentRevision(): Revision {
    return this.#freshness.currentRevision;
  }

  get progressAgeMs(): number {
    return this.#freshness.progressAgeMs;
  }

  get waitingReads(): number {
    return this.#freshness.waiterCount;
  }

  get firstLoad(): Promise<void> {
    return this.#firstLoad.promise;
  }

  retryUnreadable(): void {
    this.#retries++;
    this.#unreadableEntries.retry();
    for (const collection of this.collections) collection.forgetUnread();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const collection of this.collections) collection.close();
    this.#stopListening();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock, random, report } = this.#options;
    const { signal } = this.#closing;
    const pauses = backoff({ firstMs: restartFirstMs, maxMs: restartMaxMs }, random);
    while (!signal.aborted) {
      try {
        this.#round = new AbortController();
        const ended = AbortSignal.any([signal, this.#round.signal]);
        await this.#follow(await this.#loadWithHistory(ended), ended, () => pauses.reset());
      } catch (cause) {
        if (signal.aborted) return;
        this.#isSynced = false;
        if (!this.#round.signal.aborted) {
          // Reported once, and not with every failed attempt to load again.
          if (String(cause) !== String(this.#syncError)) report({ type: 'lost', cause });
          this.#syncError = cause;
        }
      }
      await sleep(clock, pauses.nextMs(), signal).catch(() => {}); // ends early when the server closes
    }
  }

  /** Loads a past state if the store still has it, else the present one. */
  async #loadWithHistory(ended: AbortSignal): Promise<Revision> {
    const { store, clock } = this.#options;
    const latest = await store.readLatestRevision(callUntil(clock.monotonicMs() + latestRevisionTimeoutMs));
    const past = latest - historyRevisions;
    // The cache never goes back behind a state that it has served.
    if (past <= Math.max(1, this.currentRevision, this.#historyStart)) return this.#load(undefined, ended);
    try {
      return await this.#load(revision(past), ended);
    } catch (error) {
      if (error instanceof RevisionCompactedError) return this.#load(undefined, ended);
      throw error;
    }
  }

  async #load(at: Revision | undefined, ended: AbortSignal): Promise<Revision> {
    const { store, prefix, clock, report } = this.#options;
    const startedMs = clock.monotonicMs();
    const retriesBefore = this.#retries;
    const loading = {
      store,
      prefix,
      collections: this.collections,
      collectionOf: (key: string) => this.#collectionOf(key),
      clock,
      signal: ended,
    };
    const { revision: from, items, unreadable, publish } = await loadCollections(loading, at);
    // The history may have been replaced since the last check, in a callback of the same turn.
    ended.throwIfAborted();
    this.#unreadableEntries.clear();
    publish();
    this.#freshness.setLoaded(from);
    this.#isSynced = true;
    this.#syncError = undefined;
    report({ type: 'loaded', items, revision: from, tookMs: clock.monotonicMs() - startedMs });
    this.#firstLoad.resolve();
    // A KMS plugin that is unavailable may leave all values unreadable.
    for (const entry of unreadable) {
      if (!this.#loop.hasTime('feed')) {
        await this.#loop.turn('feed');
        ended.throwIfAborted();
      }
      this.#unreadableEntries.set(entry.key, entry);
    }
    // Keys became available during the load, maybe after these values had been read.
    if (this.#retries > retriesBefore) this.#unreadableEntries.retry();
    return from;
  }

  async #follow(from: Revision, ended: AbortSignal, onProgress: () => void): Promise<void> {
    const { store, prefix } = this.#options;
    for await (const set of store.watch(prefix, from, ended, { withPrevious: false })) {
      if (!this.#loop.hasTime('feed')) await this.#loop.turn('feed');
      if (ended.aborted) return;
      onProgress();
      this.#apply(set);
    }
  }

  #apply({ revision: to, changes }: ChangeSet): void {
    let isResponse = true;
    for (const { key, current } of changes) {
      const collection = this.#collectionOf(key);
      if (!collection) continue;
      isResponse = false;
      this.#unreadableEntries.set(key, current);
      collection.apply(key, current, to);
    }
    this.#freshness.advance(to, isResponse);
  }

  #replaceHistory(replaced: HistoryReplaced): void {
    this.#isSynced = false;
    this.#syncError = new HistoryReplacedError();
    this.#historyStart = replaced.now;
    this.#freshness.replaceHistory();
    this.#unreadableEntries.clear();
    const revisions = { before: revision(replaced.before), now: revision(replaced.now) };
    for (const collection of this.collections) collection.replaceHistory(revisions);
    this.#round.abort();
    this.#options.report({ type: 'history replaced', ...replaced });
  }

  #collectionOf(key: string): Collection<Item> | undefined {
    return this.collections.find(({ descriptor }) => key.startsWith(descriptor.prefix));
  }
}
