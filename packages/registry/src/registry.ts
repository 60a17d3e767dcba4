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
  readonly clock: Clock;
  readonly random: Random;
  readonly report: (event: WatchCacheEvent) => void;
  /** About etcd's election timeout: a watch that is behind and has made no progress for so long is reopened. */
  readonly stallMs?: number;
  readonly shardedReads?: boolean;
  readonly readMeasures?: (kind: Kind) => ReadMeasures;
}

export interface Registry {
  readonly api: ServedApi;
  readonly cache: Omit<WatchCache<CachedObject>, 'collections' | 'retryUnreadable'>;
  /** Reads unreadable objects again, after the encryption keys were reloaded or a KMS plugin has recovered. */
  readonly retryUnreadable: () => void;
}

/** Opens the resources of all kinds and begins to follow them in memory. */
export function openRegistry(options: RegistryOptions): Registry {
  const { kinds, storedKinds, shardedReads = false, readMeasures, ...environment } = options;
  const { store, clock, random } = environment;
  const formOf = (held: CollectionKind) => ({
    ...collectionFormOf(held, storedKinds.keyPrefix),
    measures: readMeasures?.(held.kind),
  });
  const opened = new Map<Kind, Opened>();
  for (const kind of kinds) storedKinds.add(kind);
  const held = kinds.map((kind): CollectionKind => ({ kind }));
  const cache = new WatchCache({ ...environment, prefix: `${storedKinds.keyPrefix}/`, collections: held.map(formOf) });
  const resourcesOf = (one: Opened): readonly Resource[] => {
    const { kind } = one.held;
    opened.set(kind, one);
    const { collection, channels } = one;
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
  const resources = held.flatMap((one, index) =>
    resourcesOf(openedOf(one, requireValue(cache.collections[index], 'every form has a collection'))),
  );
  const api = new ServedApi(resources, {
    open: async (kind) => {
      storedKinds.add(kind);
      const one = { kind };
      return resourcesOf(openedOf(one, await cache.attach(formOf(one))));
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
      cache.detach(storedKinds.prefixOf(kind));
    },
  });
  return { api, cache, retryUnreadable: () => cache.retryUnreadable() };
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
