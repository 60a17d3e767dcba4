import type { CleanupStack } from '@cluster-apiserver/base';
import type { FeatureGates } from '@cluster-apiserver/config';
import { namespaceKind } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model/kind';
import { type LiveApi, openRegistry, type ServedApi, StoredKinds } from '@cluster-apiserver/registry';
import type { EtcdClient } from '@cluster-apiserver/storage';
import type { Metrics } from '@cluster-apiserver/telemetry';
import type { ServerContext } from '../configuration/context.ts';
import { openEncryption } from '../storage/encryption.ts';
import { addStorageChecks } from '../observability/health.ts';
import type { StorageSettings } from '../storage/storage-settings.ts';
import { type ConnectedNamespaces, createNamespaces } from './namespaces.ts';
import { createWatchCacheReporter, openStorage } from '../storage/etcd-storage.ts';
import { createReadMeasures, publishWatchCache } from '../storage/watch-cache-measures.ts';

/** The kinds with their objects: etcd, encryption, the watch cache and the registry. */
export interface ServedResources {
  readonly api: ServedApi;
  readonly client: EtcdClient;
  /** Resolves when the watch cache has been filled for the first time. */
  readonly filled: Promise<void>;
  /** Undefined if namespaces are not served. */
  readonly namespaces: ConnectedNamespaces | undefined;
}

export async function openResources(
  settings: StorageSettings,
  kinds: readonly Kind[],
  gates: FeatureGates,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<ServedResources> {
  const { environment, metrics, log, health } = context;
  const { clock, random } = environment;
  const storedKinds = new StoredKinds(settings.keyPrefix);
  const { transformer, onChange } = await openEncryption(settings.encryption, storedKinds, context, cleanup);
  const { client, store, measures } = await openStorage(settings, { storedKinds, transformer }, context, cleanup);
  const { api, cache, retryUnreadable } = openRegistry({
    kinds,
    storedKinds,
    store,
    clock,
    random,
    report: createWatchCacheReporter(log, measures),
    stallMs: settings.electionTimeoutMs,
    shardedReads: gates.enabled('ShardedListAndWatch'),
    readMeasures: createReadMeasures(metrics),
  });
  cleanup.defer('watch cache', () => cache.close());
  dropSeriesOfRemoved(metrics, api);
  publishWatchCache(metrics, cache, api, client);
  onChange(retryUnreadable);
  addStorageChecks(health, { client, cache, clock });
  const namespaceResource = api.current.ofVersion(namespaceKind);
  return {
    api,
    client,
    filled: cache.firstLoad,
    namespaces: namespaceResource && createNamespaces(namespaceResource, clock),
  };
}

/** A kind may come back under the same name, and any number of others may come and go. */
const dropSeriesOfRemoved = (metrics: Metrics, api: LiveApi): unknown =>
  api.onChange((current, previous) => {
    const kept = new Set(current.resources);
    for (const resource of previous.resources) {
      if (kept.has(resource)) continue;
      const { group, version, plural } = resource.served;
      if (!current.byPath(group, version, plural)) metrics.dropSeries({ group, resource: plural });
    }
  });
