import type { CleanupStack } from '@cluster-apiserver/base';
import { namespaceKind } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model/kind';
import { type LiveApi, openRegistry, type ServedApi, StoredKinds } from '@cluster-apiserver/registry';
import type { EtcdClient } from '@cluster-apiserver/storage';
import type { Metrics } from '@cluster-apiserver/telemetry';
import type { ServerContext } from '../configuration/context.ts';
import { openEncryption } from '../storage/encryption.ts';
import { addStorageChecks } from '../observability/health.ts';
import { getKeyPrefixes } from '../storage/key-prefixes.ts';
import { type ConnectedNamespaces, createNamespaces } from './namespaces.ts';
import { createWatchCacheReporter, openStorage } from '../storage/storage.ts';
import { createReadMeasures, publishWatchCache } from '../storage/watch-cache-measures.ts';

/** The kinds with their objects: etcd, encryption, the watch cache and the registry. */
export interface ServedResources {
  readonly api: ServedApi;
  readonly client: EtcdClient;
  readonly ownPrefix: string;
  /** Resolves when the watch cache has been filled for the first time. */
  readonly filled: Promise<void>;
  /** Undefined if namespaces are not served. */
  readonly namespaces: ConnectedNamespaces | undefined;
}

export async function openResources(
  context: ServerContext,
  kinds: readonly Kind[],
  cleanup: CleanupStack,
): Promise<ServedResources> {
  const { flags, environment, metrics, log, health, gates, certificates, records } = context;
  const { clock, random } = environment;
  const { keyPrefix, ownPrefix } = getKeyPrefixes(flags);
  const storedKinds = new StoredKinds(keyPrefix);
  const encryption = await openEncryption({ ...context, storedKinds }, cleanup);
  const { transformer } = encryption;
  const storage = { ownPrefix, transformer, metrics, certificates, records, storedKinds };
  const { client, store, measures } = await openStorage(flags, storage, environment, log, cleanup);
  const { api, cache, retryUnreadable } = openRegistry({
    kinds,
    storedKinds,
    store,
    clock,
    random,
    report: createWatchCacheReporter(log, measures),
    stallMs: flags['etcd-election-timeout'],
    shardedReads: gates.enabled('ShardedListAndWatch'),
    readMeasures: createReadMeasures(metrics),
  });
  cleanup.defer('watch cache', () => cache.close());
  dropSeriesOfRemoved(metrics, api);
  publishWatchCache(metrics, { cache, api, client });
  encryption.onChange(retryUnreadable);
  addStorageChecks(health, { client, cache, clock });
  const namespaceResource = api.current.ofVersion(namespaceKind);
  return {
    api,
    client,
    ownPrefix,
    filled: cache.firstLoad,
    namespaces: namespaceResource && createNamespaces(namespaceResource, clock),
  };
}

/** A kind may come back under the same name, and any number of others may come and go. */
const dropSeriesOfRemoved = (metrics: Metrics, api: LiveApi): unknown =>
  api.onChange((current, previous) => {
    for (const { served } of previous.resources)
      if (!current.byPath(served.group, served.version, served.plural))
        metrics.dropSeries({ group: served.group, resource: served.plural });
  });
