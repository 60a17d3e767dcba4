/**
 * Everything below a prefix, in memory, in one order across all collections. One list and one watch feed it; every
 * write below the prefix moves the revision that it has come to. A list and a watch of it can never disagree, because
 * state, changes and revision move together in one turn.
 */
import { backoff, callUntil, type Clock, type Random, sleep } from '@cluster-apiserver/base';
import { RevisionCompactedError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { ChangeSet, Snapshot, Store } from '../store.ts';
import { type CacheItem, Collection, type CollectionForm } from './collection.ts';
import { Freshness } from './freshness.ts';

export interface WatchCacheOptions<Item extends CacheItem> {
  readonly store: Store;
  /** All of the collections lie below it, and so do the keys that the store keeps for itself. */
  readonly prefix: string;
  readonly forms: readonly CollectionForm<Item>[];
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: WatchCacheEvent) => void;
}

export type WatchCacheEvent =
  | { readonly type: 'loaded'; readonly items: number; readonly revision: Revision; readonly tookMs: number }
  /** It begins again from a list. Until that has been read, it answers what it knew, and no fresh reads. */
  | { readonly type: 'lost'; readonly cause: unknown };

export interface WatchCache<Item extends CacheItem> {
  /** In the order of their forms. */
  readonly collections: readonly Collection<Item>[];
  /** Whether it follows the store. */
  readonly following: boolean;
  /** Resolves when it has been filled for the first time. */
  readonly filled: Promise<void>;
  /** Begins again from a list, because what was stored is read differently now. Until then it answers what it knew. */
  reread(): void;
  close(): Promise<void>;
}

/** Memory that the changes of late may hold, for each collection. */
const windowWeightMax = 16 * 1024 * 1024;

/** Small enough that a page is quickly made, large enough that 100,000 objects do not take 1,000 round trips. */
const pageKeys = 2_000;
const pageTimeoutMs = 30_000;

/**
 * A replica begins this far in the past and is told what happened since: so clients that come over from another
 * replica find the changes that they have not seen yet in memory.
 */
const historyRevisions = 5_000;

const restartFirstMs = 20;
const restartMaxMs = 5_000;

export function openWatchCache<Item extends CacheItem>(options: WatchCacheOptions<Item>): WatchCache<Item> {
  const { store, prefix, forms, clock, random, report } = options;
  const freshness = new Freshness({ store, clock });
  const collections = forms.map((form) => new Collection(form, store, freshness, windowWeightMax));
  const collectionOf = (key: string): Collection<Item> | undefined =>
    collections.find(({ form }) => key.startsWith(form.prefix));
  const closing = new AbortController();
  const { signal } = closing;
  const first = Promise.withResolvers<void>();
  let following = false;
  let round = new AbortController();

  const apply = ({ revision: to, changes }: ChangeSet): void => {
    for (const { key, current } of changes) collectionOf(key)?.apply(key, current, to);
    freshness.advance(to);
  };

  const load = async (at: Revision | undefined): Promise<Revision> => {
    const startedMs = clock.monotonicMs();
    const reloads = new Map(collections.map((collection) => [collection, collection.reload()]));
    const readPage = (after: string | undefined, revision: Revision | undefined): Promise<Snapshot> => {
      const page = store.list(
        { prefix, after, limit: pageKeys, revision },
        callUntil(clock.monotonicMs() + pageTimeoutMs),
      );
      page.catch(() => {}); // told when it is waited for, if it still is
      return page;
    };
    let items = 0;
    let next: Promise<Snapshot> | undefined = readPage(undefined, at);
    let from: Revision;
    do {
      const page: Snapshot = await next;
      signal.throwIfAborted();
      from = page.revision;
      // The store reads the next one while this one is looked into.
      next = page.remaining > 0 ? readPage(page.entries.at(-1)?.key, from) : undefined;
      for (const entry of page.entries) {
        const collection = collectionOf(entry.key);
        if (!collection) continue;
        reloads.get(collection)?.add(entry);
        items++;
      }
    } while (next);
    for (const reload of reloads.values()) reload.done(from);
    freshness.advance(from);
    following = true;
    report({ type: 'loaded', items, revision: from, tookMs: clock.monotonicMs() - startedMs });
    first.resolve();
    return from;
  };

  /** From the past if the store still knows it, else from now. */
  const loadWithHistory = async (): Promise<Revision> => {
    const head = await store.head(callUntil(clock.monotonicMs() + pageTimeoutMs));
    const past = head - historyRevisions;
    // What was told once is not taken back: a state from before that would be.
    if (past <= Math.max(1, freshness.reached)) return load(undefined);
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
        for await (const set of store.watch(prefix, from, AbortSignal.any([signal, round.signal]), 'untold')) {
          pauses.reset();
          apply(set);
        }
      } catch (cause) {
        if (signal.aborted) return;
        following = false;
        report({ type: 'lost', cause });
      }
      // Ends early, by the signal, when the server closes.
      await sleep(clock, pauses.nextMs(), signal).catch(() => {});
    }
  };
  const running = run();

  return {
    collections,
    get following() {
      return following;
    },
    filled: first.promise,
    reread: () => round.abort(),
    close: async () => {
      closing.abort();
      await running;
    },
  };
}
