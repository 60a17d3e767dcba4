import { awaitWithin, type Call, callUntil, type Clock, loopOf, runTask } from '@cluster-apiserver/base';
import type { Revision } from '../revision.ts';
import type { Snapshot, Store, UnreadableEntry } from '../store.ts';
import type { Collection } from './collection.ts';
import type { CacheItem } from './collection-descriptor.ts';

/** As kube-apiserver loads its caches. More round trips cost etcd much more time. */
const pageKeys = 10_000;

export interface LoadOptions<Item extends CacheItem> {
  readonly store: Store;
  readonly prefix: string;
  readonly collections: readonly Collection<Item>[];
  readonly collectionOf: (key: string) => Collection<Item> | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Loaded {
  readonly revision: Revision;
  readonly items: number;
  readonly unreadable: readonly UnreadableEntry[];
  /** Replaces the contents of all collections at once. */
  readonly publish: () => void;
}

/** Reads all collections at one revision; the latest if `at` is undefined. Rejects if the signal aborts. */
export async function loadCollections<Item extends CacheItem>(
  { store, prefix, collections, collectionOf, clock, signal }: LoadOptions<Item>,
  at: Revision | undefined,
): Promise<Loaded> {
  // A slow store may take minutes for many objects. It fails if a page makes no progress, however long the load takes.
  const call: Call = {
    ...callUntil(Number.POSITIVE_INFINITY),
    signal,
    get isAborted() {
      return signal.aborted;
    },
  };
  const loop = loopOf(clock);
  const reloads = new Map(collections.map((collection) => [collection, collection.reload()]));
  const readPage = (after: string | undefined, revision: Revision | undefined): Promise<Snapshot> => {
    const page = store.list({ prefix, after, limit: pageKeys, revision, slowKeys: 'defer' }, call);
    page.catch(() => {}); // the error is thrown where the page is awaited, unless the load has ended before
    return page;
  };
  const unreadable: UnreadableEntry[] = [];
  let items = 0;
  let next: Promise<Snapshot> | undefined = readPage(undefined, at);
  let revision: Revision;
  do {
    const page: Snapshot = await awaitWithin(clock, call, next);
    revision = page.revision;
    // The store reads the next page while this one is decoded.
    next = page.remaining > 0 ? readPage(page.entries.at(-1)?.key, revision) : undefined;
    for (const entry of page.entries) {
      if (!loop.hasTime('feed')) await loop.turn('feed');
      const collection = collectionOf(entry.key);
      if (!collection) continue;
      if (entry.unreadable) unreadable.push(entry);
      reloads.get(collection)?.add(entry);
      items++;
    }
  } while (next);
  const publishers: (() => void)[] = [];
  for (const reload of reloads.values()) publishers.push(await runTask(clock, undefined, reload.prepare(revision)));
  signal.throwIfAborted();
  const publish = (): void => {
    for (const publishOne of publishers) publishOne();
  };
  return { revision, items, unreadable, publish };
}
