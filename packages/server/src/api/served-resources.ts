import { type CleanupStack, requireValue } from '@cluster-apiserver/base';
import type { FeatureGates } from '@cluster-apiserver/config';
import { namespaceKind } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model/kind';
import { type LiveApi, openRegistry, type ServedApi, StoredKinds } from '@cluster-apiserver/registry';
import type { EtcdClient } from '@cluster-apiserver/storage';
import type { Metrics } from '@cluster-apiserver/telemetry';
import type { ServerContext } from '../configuration/context.ts';
import { openEncryption } from '../storage/encryption.ts';
import { addOverrideChecks, addStorageChecks } from '../observability/health.ts';
import { holdsKind } from '../storage/etcd-overrides.ts';
import type { StorageSettings } from '../storage/storage-settings.ts';
import { type ConnectedNamespaces, createNamespaces } from './namespaces.ts';
import { createWatchCacheReporter, type OpenEtcd, openStorage } from '../storage/etcd-storage.ts';
import { createReadMeasures, publishWatchCaches } from '../storage/watch-cache-measures.ts';

/** The kinds with their objects: etcd, encryption, the watch cache and the registry. */
export interface ServedResources {
  readonly api: ServedApi;
  /** Of all etcds; the first one is that of most kinds, and of the server itself. */
  readonly clients: readonly [EtcdClient, ...EtcdClient[]];
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
  const [main, ...others] = await openStorage(settings, { storedKinds, transformer }, context, cleanup);
  const followed = (etcd: OpenEtcd) => ({
    store: etcd.store,
    report: createWatchCacheReporter(log, etcd),
    holds: (kind: Kind) => holdsKind(etcd, kind),
  });
  const { api, cache, otherCaches, retryUnreadable } = openRegistry({
    kinds,
    storedKinds,
    ...followed(main),
    others: others.map(followed),
    clock,
    random,
    stallMs: settings.electionTimeoutMs,
    shardedReads: gates.enabled('ShardedListAndWatch'),
    readMeasures: createReadMeasures(metrics),
  });
  const caches = [cache, ...otherCaches];
  cleanup.defer('watch caches', async () => void (await Promise.all(caches.map((one) => one.close()))));
  dropSeriesOfRemoved(metrics, api);
  const cached = caches.map((one, index) => ({ ...requireValue([main, ...others][index]), cache: one, clock }));
  publishWatchCaches(metrics, api, cached);
  onChange(retryUnreadable);
  addStorageChecks(health, { ...main, cache, clock });
  for (const [index, one] of cached.slice(1).entries()) addOverrideChecks(health, index, one);
  const namespaceResource = api.ofVersion(namespaceKind);
  return {
    api,
    clients: [main.client, ...others.map(({ client }) => client)],
    filled: cache.firstLoad,
    namespaces: namespaceResource && createNamespaces(namespaceResource, clock),
  };
}

/** A kind may come back under the same name, and any number of others may come and go. */
const dropSeriesOfRemoved = (metrics: Metrics, api: LiveApi): unknown =>
  api.onChange(({ went }) => {
    for (const { served } of went) {
      const { group, version, plural, isServed } = served;
      if (isServed && !api.byPath(group, version, plural)) metrics.dropSeries({ group, resource: plural });
    }
  });
