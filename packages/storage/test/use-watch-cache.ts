import { afterEach, beforeEach } from '@jest/globals';
import { callUntil, requireValue, seededRandom, systemClock } from '@cluster-apiserver/base';
import { type MemoryStore, memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { type Revision, revision } from '../src/revision.ts';
import type { Entry } from '../src/store.ts';
import type { Collection } from '../src/watch-cache/collection.ts';
import type { CacheItem, CollectionDescriptor } from '../src/watch-cache/collection-descriptor.ts';
import { WatchCache, type WatchCacheOptions } from '../src/watch-cache/watch-cache.ts';
import type { WatchCacheEvent } from '../src/watch-cache/watch-cache-event.ts';

export interface Item extends CacheItem {
  readonly text: string;
}

/** Each item has its value as its only term. */
export const descriptorOf = (prefix: string): CollectionDescriptor<Item> => ({
  prefix,
  read: (entry, key) => ({ key, revision: entry.revision, weight: 2_000, text: textOf(entry) }),
  termsOf: ({ text }) => [text],
});
export const textOf = (entry: Entry): string => (entry.unreadable ? '?' : entry.value.toString());

export const call = callUntil(Number.POSITIVE_INFINITY);

/** What a view contains, `key=text` in order: the current one, or one of the past. */
export async function contents(collection: Collection<Item>, at?: Revision): Promise<string[] | undefined> {
  const view = at === undefined ? collection.view() : await collection.viewAt(at);
  const items: string[] = [];
  view?.items.visit('', ({ key, text }) => items.push(`${key}=${text}`) > 0);
  return view && items;
}

export interface CachedStore {
  readonly memory: MemoryStore;
  /** What all caches of this test reported. */
  readonly reports: readonly WatchCacheEvent[];
  /** Opens a cache of the collections `/r/a/` and `/r/b/`, which is closed after the test. */
  open(options?: Partial<WatchCacheOptions<Item>>): WatchCache<Item>;
  put(key: string, text?: string): Promise<Revision>;
  remove(key: string): Promise<Revision>;
}

/** A store in memory for each test, and watch caches of it. */
export function useWatchCache(): CachedStore {
  let memory: MemoryStore;
  let opened: WatchCache<Item>[];
  let reports: WatchCacheEvent[];
  beforeEach(() => {
    memory = memoryStore(systemClock);
    opened = [];
    reports = [];
  });
  afterEach(async () => {
    await Promise.all(opened.map((cache) => cache.close()));
    memory.close();
  });
  return {
    get memory() {
      return memory;
    },
    get reports() {
      return reports;
    },
    open: (options) => {
      const cache = new WatchCache({
        store: memory,
        prefix: '/r/',
        collections: [descriptorOf('/r/a/'), descriptorOf('/r/b/')],
        clock: systemClock,
        random: seededRandom(1),
        report: (event) => reports.push(event),
        ...options,
      });
      opened.push(cache);
      return cache;
    },
    put: async (key, text = key) => {
      const { stored } = await memory.get(key, call);
      const bytes = Buffer.from(text);
      return stored ? memory.update(key, bytes, stored.revision, {}, call) : memory.create(key, bytes, {}, call);
    },
    remove: async (key) => memory.delete(key, (await memory.get(key, call)).stored?.revision ?? revision(0), call),
  };
}

/** The two collections that `open` caches by default. */
export function collectionsOf({
  collections: [a, b],
}: WatchCache<Item>): readonly [Collection<Item>, Collection<Item>] {
  return [requireValue(a), requireValue(b)];
}
