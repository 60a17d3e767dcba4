import { type Clock, type Random, requireValue } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model/kind';
import {
  type Collection,
  type ReadMeasures,
  type FollowedStore,
  WatchCache,
  type WatchCacheEvent,
} from '@cluster-apiserver/storage';
import { immediateConversion } from './conversion.ts';
import type { Resource } from './resource.ts';
import { ServedApi } from './served-api.ts';
import type { StoredKinds } from './stored-kinds.ts';
import { type CachedObject, collectionFormOf } from './stored-object.ts';
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
  const formOf = (kind: Kind) => ({
    ...collectionFormOf(kind, storedKinds.keyPrefix),
    measures: readMeasures?.(kind),
  });
  for (const kind of kinds) storedKinds.add(kind);
  const collections = kinds.map(formOf);
  const cache = new WatchCache({ ...environment, prefix: `${storedKinds.keyPrefix}/`, collections });
  const resourcesOf = (kind: Kind, collection: Collection<CachedObject>): readonly Resource[] => {
    const channels = new Channels(collection, kind, clock);
    const shared = { kind, store, collection, channels, shardedReads, clock, random };
    return kind.versions.map((served) => ({ ...shared, served, fromStored: immediateConversion({ kind, served }) }));
  };
  const resources = kinds.flatMap((kind, index) =>
    resourcesOf(kind, requireValue(cache.collections[index], 'every form has a collection')),
  );
  const api = new ServedApi(resources, {
    open: async (kind) => {
      storedKinds.add(kind);
      return resourcesOf(kind, await cache.attach(formOf(kind)));
    },
    close: (kind) => {
      storedKinds.delete(kind);
      cache.detach(storedKinds.prefixOf(kind));
    },
  });
  return { api, cache, retryUnreadable: () => cache.retryUnreadable() };
}
