import { type Clock, type Random, requireValue, runTask } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model/kind';
import {
  type Collection,
  type ReadMeasures,
  type FollowedStore,
  WatchCache,
  type WatchCacheEvent,
} from '@cluster-apiserver/storage';
import { immediateConversion, versionedKind } from './conversion.ts';
import type { Resource } from './resource.ts';
import { ServedApi } from './served-api.ts';
import type { StoredKinds } from './stored-kinds.ts';
import { type CachedObject, collectionFormOf, type CollectionKind, isReadAlike } from './stored-object.ts';
import { Channels } from './watch/channels.ts';

export interface RegistryOptions {
  /** Served from the start. */
  readonly kinds: readonly Kind[];
  /** Follows the kinds that are served. */
  readonly storedKinds: StoredKinds;
  readonly store: FollowedStore;
  /** Stores of some of the kinds; `store` holds the others. */
  readonly others?: readonly StoreOfKinds[];
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: WatchCacheEvent) => void;
  /** About etcd's election timeout: a watch that is behind and has made no progress for so long is reopened. */
  readonly stallMs?: number;
  readonly shardedReads?: boolean;
  readonly readMeasures?: (kind: Kind) => ReadMeasures;
}

/** A store with an order of revisions of its own. */
export interface StoreOfKinds extends Pick<RegistryOptions, 'store' | 'report'> {
  holds(kind: Kind): boolean;
}

type Cache = Omit<WatchCache<CachedObject>, 'collections' | 'retryUnreadable'>;

export interface Registry {
  readonly api: ServedApi;
  /** Of `store`. */
  readonly cache: Cache;
  /** Those of the other stores, in their order. */
  readonly otherCaches: readonly Cache[];
  /** Reads unreadable objects again, after the encryption keys were reloaded or a KMS plugin has recovered. */
  readonly retryUnreadable: () => void;
}

/** Opens the resources of all kinds and begins to follow them in memory. */
export function openRegistry(options: RegistryOptions): Registry {
  const { kinds, storedKinds, others = [], shardedReads = false, readMeasures, ...environment } = options;
  const { clock, random } = environment;
  const formOf = (held: CollectionKind) => ({
    ...collectionFormOf(held, storedKinds.keyPrefix),
    measures: readMeasures?.(held.kind),
  });
  const opened = new Map<Kind, Opened>();
  for (const kind of kinds) storedKinds.add(kind);
  const held = kinds.map((kind): CollectionKind => ({ kind }));
  const openCache = (of: Pick<StoreOfKinds, 'store' | 'report'>, isHeld: (kind: Kind) => boolean): CachedStore => {
    const collections = held.filter(({ kind }) => isHeld(kind)).map(formOf);
    const cache = new WatchCache({ ...environment, ...of, prefix: `${storedKinds.keyPrefix}/`, collections });
    return { store: of.store, cache };
  };
  const otherOf = (kind: Kind): StoreOfKinds | undefined => others.find((one) => one.holds(kind));
  const main = openCache(environment, (kind) => otherOf(kind) === undefined);
  const cachedOthers = new Map(others.map((one) => [one, openCache(one, (kind) => otherOf(kind) === one)]));
  const cachedOf = (kind: Kind): CachedStore => {
    const other = otherOf(kind);
    return other ? requireValue(cachedOthers.get(other), 'each store has a cache') : main;
  };
  const caches = [main, ...cachedOthers.values()].map(({ cache }) => cache);
  const resourcesOf = (one: Opened): readonly Resource[] => {
    const { kind } = one.held;
    opened.set(kind, one);
    const { collection, channels } = one;
    const { store } = cachedOf(kind);
    const shared = { stored: kind, store, collection, channels, shardedReads, clock, random };
    return kind.versions.map((served) => ({
      ...shared,
      ...versionedKind(kind, served),
      fromStored: immediateConversion(kind, served),
    }));
  };
  const openedOf = (one: CollectionKind, collection: Collection<CachedObject>): Opened => ({
    held: one,
    collection,
    channels: new Channels(collection, one.kind, clock),
  });
  const collections = new Map(
    caches.flatMap((cache) => cache.collections.map((one) => [one.descriptor.prefix, one] as const)),
  );
  const resources = held.map((one) =>
    resourcesOf(openedOf(one, requireValue(collections.get(storedKinds.prefixOf(one.kind)), 'every kind has one'))),
  );
  const api = new ServedApi(resources, {
    open: async (kind) => {
      storedKinds.add(kind);
      const one = { kind };
      const cached = cachedOf(kind);
      // Without the main store no kind is served, so there its kinds wait until they are loaded.
      return resourcesOf(openedOf(one, await cached.cache.attach(formOf(one), { orLost: cached !== main })));
    },
    renew: async (before, kind) => {
      const one = opened.get(before);
      if (!one?.collection.isReady || !keepsVersions(before, kind)) return undefined;
      storedKinds.delete(before);
      storedKinds.add(kind);
      opened.delete(before);
      one.held.kind = kind;
      opened.set(kind, one);
      const isAlike =
        before.storage.shape === kind.storage.shape ||
        (await runTask(clock, undefined, isReadAlike(kind, itemsOf(one.collection)), true));
      return isAlike && one.collection.isReady ? resourcesOf(one) : undefined;
    },
    close: (kind) => {
      opened.delete(kind);
      storedKinds.delete(kind);
      cachedOf(kind).cache.detach(storedKinds.prefixOf(kind));
    },
  });
  return {
    api,
    cache: main.cache,
    otherCaches: caches.slice(1),
    retryUnreadable: () => {
      for (const cache of caches) cache.retryUnreadable();
    },
  };
}

interface CachedStore {
  readonly store: FollowedStore;
  readonly cache: WatchCache<CachedObject>;
}

/** What is in memory of a kind. */
interface Opened {
  readonly held: CollectionKind;
  readonly collection: Collection<CachedObject>;
  readonly channels: Channels;
}

/** Whether clients that read or watch a version of the one kind find it in the other. */
const keepsVersions = (before: Kind, kind: Kind): boolean =>
  before.namespaced === kind.namespaced &&
  before.version === kind.version &&
  before.versions
    .filter(({ isServed }) => isServed)
    .every(({ version }) => kind.versions.some((other) => other.isServed && other.version === version));

function itemsOf(collection: Collection<CachedObject>): readonly CachedObject[] {
  const items: CachedObject[] = [];
  collection.view().items.visit('', (item) => items.push(item) > 0);
  return items;
}
