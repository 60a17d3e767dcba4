/**
 * Everything below a prefix in memory, in one order across all collections. One list and one watch feed it, and every write
 * below the prefix advances its revision. Lists and watches cannot disagree, because state, changes and revision advance
 * together in one turn of the event loop.
 */
import { backoff, callUntil, type Clock, type Random, sleep, TimeSlice } from '@cluster-apiserver/base';
import { HistoryReplacedError, RevisionCompactedError } from '../errors.ts';
import type { HistoryReplaced } from '../etcd/history.ts';
import { type Revision, revision } from '../revision.ts';
import type { ChangeSet, Store } from '../store.ts';
import { type CacheItem, Collection, type CollectionDescriptor } from './collection.ts';
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

export function openWatchCache<Item extends CacheItem>(options: WatchCacheOptions<Item>): WatchCache<Item> {
  const { store, prefix, clock, random, report, stallMs } = options;
  const freshness = new Freshness({ store, clock, ...(stallMs !== undefined && { stallMs }) });
  const collections = options.collections.map((descriptor) => new Collection(descriptor, store, freshness, clock));
  const collectionOf = (key: string): Collection<Item> | undefined =>
    collections.find(({ descriptor }) => key.startsWith(descriptor.prefix));
  const unreadableEntries = new UnreadableEntries((entry) => collectionOf(entry.key)?.resolveUnreadable(entry));
  /** Lists and the watch deliver thousands of entries at once, and share this time. */
  const slice = new TimeSlice(clock);
  const firstLoad = Promise.withResolvers<void>();
  const closing = new AbortController();
  const { signal } = closing;
  let isSynced = false;
  let syncError: unknown;
  /** The first revision of the present history. Clients do not know earlier ones. */
  let historyStart = 0;
  /** Aborted if the history is replaced, which ends the present load and watch. */
  let round = new AbortController();

  const apply = ({ revision: to, changes }: ChangeSet): void => {
    for (const { key, current } of changes) {
      const collection = collectionOf(key);
      if (!collection) continue;
      unreadableEntries.set(key, current);
      collection.apply(key, current, to);
    }
    freshness.advance(to);
  };
  const stopListening = store.onHistoryReplaced((replaced) => {
    isSynced = false;
    syncError = new HistoryReplacedError();
    historyStart = replaced.now;
    freshness.replaceHistory();
    unreadableEntries.clear();
    for (const collection of collections) collection.replaceHistory(revision(replaced.now));
    round.abort();
    report({ type: 'history replaced', ...replaced });
  });

  const load = async (at: Revision | undefined, ended: AbortSignal): Promise<Revision> => {
    const startedMs = clock.monotonicMs();
    const loading = { store, prefix, collections, collectionOf, clock, slice, signal: ended };
    const { revision: from, items, unreadable, publish } = await loadCollections(loading, at);
    unreadableEntries.clear();
    publish();
    for (const entry of unreadable) unreadableEntries.set(entry.key, entry);
    freshness.setLoaded(from);
    isSynced = true;
    syncError = undefined;
    // The KMS plugin may have recovered during the load.
    if (unreadable.length > 0) unreadableEntries.retry();
    report({ type: 'loaded', items, revision: from, tookMs: clock.monotonicMs() - startedMs });
    firstLoad.resolve();
    return from;
  };

  /** Loads a past state if the store still has it, else the present one. */
  const loadWithHistory = async (ended: AbortSignal): Promise<Revision> => {
    const latest = await store.readLatestRevision(callUntil(clock.monotonicMs() + latestRevisionTimeoutMs));
    const past = latest - historyRevisions;
    // The cache never goes back behind a state that it has served.
    if (past <= Math.max(1, freshness.currentRevision, historyStart)) return load(undefined, ended);
    try {
      return await load(revision(past), ended);
    } catch (error) {
      if (error instanceof RevisionCompactedError) return load(undefined, ended);
      throw error;
    }
  };

  const follow = async (from: Revision, ended: AbortSignal, onProgress: () => void): Promise<void> => {
    for await (const set of store.watch(prefix, from, ended, { withPrevious: false, slowKeys: 'defer' })) {
      if (ended.aborted) return;
      onProgress();
      slice.resume();
      apply(set);
      if (!slice.shouldYield()) continue;
      await slice.yieldToEventLoop();
      if (ended.aborted) return;
    }
  };

  const run = async (): Promise<void> => {
    const pauses = backoff({ firstMs: restartFirstMs, maxMs: restartMaxMs }, random);
    while (!signal.aborted) {
      try {
        round = new AbortController();
        const ended = AbortSignal.any([signal, round.signal]);
        await follow(await loadWithHistory(ended), ended, () => pauses.reset());
      } catch (cause) {
        if (signal.aborted) return;
        isSynced = false;
        if (!round.signal.aborted) {
          // Reported once, and not with every failed attempt to load again.
          if (String(cause) !== String(syncError)) report({ type: 'lost', cause });
          syncError = cause;
        }
      }
      await sleep(clock, pauses.nextMs(), signal).catch(() => {}); // ends early when the server closes
    }
  };
  const running = run();

  return {
    collections,
    get isSynced() {
      return isSynced;
    },
    get syncError() {
      return syncError;
    },
    get currentRevision() {
      return freshness.currentRevision;
    },
    get progressAgeMs() {
      return freshness.progressAgeMs;
    },
    get waitingReads() {
      return freshness.waiterCount;
    },
    firstLoad: firstLoad.promise,
    retryUnreadable: () => unreadableEntries.retry(),
    close: async () => {
      closing.abort();
      for (const collection of collections) collection.close();
      stopListening();
      await running;
    },
  };
}
