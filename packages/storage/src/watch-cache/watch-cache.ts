/**
 * Everything below a prefix, in memory, in one order across all collections. One list and one watch feed it; every
 * write below the prefix moves the revision that it has come to. A list and a watch of it can never disagree, because
 * state, changes and revision move together in one turn.
 */
import { backoff, callUntil, type Clock, type Random, runTask, sleep, TimeSlice } from '@cluster-apiserver/base';
import { HistoryReplacedError, RevisionCompactedError } from '../errors.ts';
import type { HistoryReplaced } from '../etcd/history.ts';
import { type Revision, revision } from '../revision.ts';
import type { ChangeSet, Snapshot, Store, UnreadableEntry } from '../store.ts';
import { type CacheItem, Collection, type CollectionDescriptor } from './collection.ts';
import { Freshness } from './freshness.ts';
import { UnreadableEntries } from './unreadable-entries.ts';

export interface WatchCacheOptions<Item extends CacheItem> {
  readonly store: Store;
  /** All of the collections lie below it, and so do the keys that the store keeps for itself. */
  readonly prefix: string;
  readonly collections: readonly CollectionDescriptor<Item>[];
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: WatchCacheEvent) => void;
  /** A watch that is behind and has not moved for this long begins anew: about etcd's election timeout. */
  readonly stallMs?: number;
}

export type WatchCacheEvent =
  | { readonly type: 'loaded'; readonly items: number; readonly revision: Revision; readonly tookMs: number }
  /** It begins again from a list. Until that has been read, it answers what it knew, and no fresh reads. */
  | { readonly type: 'lost'; readonly cause: unknown }
  /** The store has another history than before: everything is forgotten at once, and read anew. */
  | ({ readonly type: 'history replaced' } & HistoryReplaced);

export interface WatchCache<Item extends CacheItem> {
  /** In the order of their forms. */
  readonly collections: readonly Collection<Item>[];
  /** Whether it follows the store. */
  readonly isSynced: boolean;
  /** Why it does not follow the store, where something else than the first list is the reason. */
  readonly syncError: unknown;
  /** How far it has come. */
  readonly currentRevision: Revision;
  /** How long ago the store told last how far it is, whether or not there was anything new. */
  readonly progressAgeMs: number;
  /** How many reads wait for it to move on. */
  readonly waitingReads: number;
  /** Resolves when it has been filled for the first time. */
  readonly firstLoad: Promise<void>;
  /** Tries once more to read what could not be read: there are other keys now, or who keeps them is back. */
  retryUnreadable(): void;
  close(): Promise<void>;
}

/** Small enough that a page is quickly made, large enough that 100,000 objects do not take 1,000 round trips. */
const pageKeys = 2_000;
const pageTimeoutMs = 30_000;

/**
 * A replica begins this far in the past and is told what happened since: so clients that come over from another
 * replica find the changes that they have not seen yet in memory. Those further behind share a catch-up. More would
 * delay the start by some 80 µs each, and etcd does not tell when a revision was.
 */
const historyRevisions = 5_000;

const restartFirstMs = 20;
const restartMaxMs = 5_000;

export function openWatchCache<Item extends CacheItem>(options: WatchCacheOptions<Item>): WatchCache<Item> {
  const { store, prefix, collections: forms, clock, random, report, stallMs: standstillMs } = options;
  const freshness = new Freshness({ store, clock, ...(standstillMs !== undefined && { stallMs: standstillMs }) });
  const collections = forms.map((form) => new Collection(form, store, freshness, clock));
  const collectionOf = (key: string): Collection<Item> | undefined =>
    collections.find(({ descriptor: form }) => key.startsWith(form.prefix));
  const closing = new AbortController();
  const { signal } = closing;
  /** What the watch or a list may take of one turn: both bring some thousand entries at once. */
  const turn = new TimeSlice(clock);
  const first = Promise.withResolvers<void>();
  let following = false;
  let lostBecause: unknown;
  /** Earlier revisions are not the ones that clients know. */
  let historyFrom = 0;
  let round = new AbortController();
  const unreadables = new UnreadableEntries((entry) => collectionOf(entry.key)?.resolveUnreadable(entry));

  const apply = ({ revision: to, changes }: ChangeSet): void => {
    for (const { key, current } of changes) {
      const collection = collectionOf(key);
      if (!collection) continue;
      unreadables.set(key, current);
      collection.apply(key, current, to);
    }
    freshness.advance(to);
  };
  const stopListening = store.onHistoryReplaced((replaced) => {
    following = false;
    lostBecause = new HistoryReplacedError();
    historyFrom = replaced.now;
    freshness.replaceHistory();
    unreadables.clear();
    for (const collection of collections) collection.replaceHistory(revision(replaced.now));
    round.abort();
    report({ type: 'history replaced', ...replaced });
  });

  const load = async (at: Revision | undefined): Promise<Revision> => {
    const startedMs = clock.monotonicMs();
    const reloads = new Map(collections.map((collection) => [collection, collection.reload()]));
    const readPage = (after: string | undefined, revision: Revision | undefined): Promise<Snapshot> => {
      const page = store.list(
        { prefix, after, limit: pageKeys, revision, slowKeys: 'late' },
        callUntil(clock.monotonicMs() + pageTimeoutMs),
      );
      page.catch(() => {}); // told when it is waited for, if it still is
      return page;
    };
    const { signal: ofRound } = round;
    const unread: UnreadableEntry[] = [];
    let items = 0;
    let next: Promise<Snapshot> | undefined = readPage(undefined, at);
    let from: Revision;
    do {
      const page: Snapshot = await next;
      signal.throwIfAborted();
      ofRound.throwIfAborted();
      from = page.revision;
      // The store reads the next one while this one is looked into.
      next = page.remaining > 0 ? readPage(page.entries.at(-1)?.key, from) : undefined;
      turn.resume();
      for (const entry of page.entries) {
        const collection = collectionOf(entry.key);
        if (!collection) continue;
        if (entry.unreadable) unread.push(entry);
        reloads.get(collection)?.add(entry);
        items++;
        if (turn.shouldYield()) await turn.yieldToEventLoop();
      }
    } while (next);
    const finish: (() => void)[] = [];
    for (const reload of reloads.values()) finish.push(await runTask(clock, undefined, reload.prepare(from)));
    signal.throwIfAborted();
    ofRound.throwIfAborted();
    unreadables.clear();
    for (const finishOne of finish) finishOne();
    for (const entry of unread) unreadables.set(entry.key, entry);
    freshness.setLoaded(from);
    following = true;
    lostBecause = undefined;
    // While they were being read, who keeps their keys may have come back.
    if (unread.length > 0) unreadables.retry();
    report({ type: 'loaded', items, revision: from, tookMs: clock.monotonicMs() - startedMs });
    first.resolve();
    return from;
  };

  /** From the past if the store still knows it, else from now. */
  const loadWithHistory = async (): Promise<Revision> => {
    const head = await store.readLatestRevision(callUntil(clock.monotonicMs() + pageTimeoutMs));
    const past = head - historyRevisions;
    // What was told once is not taken back: a state from before that would be.
    if (past <= Math.max(1, freshness.currentRevision, historyFrom)) return load(undefined);
    try {
      return await load(revision(past));
    } catch (error) {
      if (error instanceof RevisionCompactedError) return load(undefined);
      throw error;
    }
  };

  const run = async (): Promise<void> => {
    const pauses = backoff({ firstMs: restartFirstMs, maxMs: restartMaxMs }, random);
    while (!signal.aborted) {
      try {
        round = new AbortController();
        const from = await loadWithHistory();
        const ended = AbortSignal.any([signal, round.signal]);
        for await (const set of store.watch(prefix, from, ended, 'untold', 'late')) {
          if (ended.aborted) break;
          pauses.reset();
          turn.resume();
          apply(set);
          if (!turn.shouldYield()) continue;
          await turn.yieldToEventLoop();
          if (ended.aborted) break;
        }
      } catch (cause) {
        if (signal.aborted) return;
        following = false;
        if (!round.signal.aborted) {
          // What was reported already is not reported again with each attempt to begin anew.
          if (String(cause) !== String(lostBecause)) report({ type: 'lost', cause });
          lostBecause = cause;
        }
      }
      // Ends early, by the signal, when the server closes.
      await sleep(clock, pauses.nextMs(), signal).catch(() => {});
    }
  };
  const running = run();

  return {
    collections,
    get isSynced() {
      return following;
    },
    get syncError() {
      return lostBecause;
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
    firstLoad: first.promise,
    retryUnreadable: () => unreadables.retry(),
    close: async () => {
      closing.abort();
      for (const collection of collections) collection.close();
      stopListening();
      await running;
    },
  };
}
