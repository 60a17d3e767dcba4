import type { CleanupStack } from '@cluster-apiserver/base';
import { namespaceKind } from '@cluster-apiserver/kinds';
import type { Kind } from '@cluster-apiserver/model';
import { openRegistry, type Registry } from '@cluster-apiserver/registry';
import type { EtcdClient } from '@cluster-apiserver/storage';
import type { ServerContext } from './context.ts';
import { openEncryption } from './encryption.ts';
import { addStorageChecks } from './health.ts';
import { getKeyPrefixes } from './key-prefixes.ts';
import { type ConnectedNamespaces, createNamespaces } from './namespaces.ts';
import { createWatchCacheReporter, openStorage } from './storage.ts';
import { createReadMeasures, publishWatchCache } from './watch-cache-measures.ts';

/** The kinds with their objects: etcd, encryption, the watch cache and the registry. */
export interface ServedResources extends Pick<Registry, 'resources' | 'views'> {
  readonly kinds: readonly Kind[];
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
  const storedKinds = kinds.filter(({ view }) => !view);
  const encryption = await openEncryption({ ...context, keyPrefix, kinds: storedKinds }, cleanup);
  const { transformer } = encryption;
  const storage = { ownPrefix, transformer, metrics, certificates, records, kinds };
  const { client, store, measures } = await openStorage(flags, storage, environment, log, cleanup);
  const { resources, views, cache, retryUnreadable } = openRegistry({
    kinds,
    store,
    keyPrefix,
    clock,
    random,
    report: createWatchCacheReporter(log, measures),
    stallMs: flags['etcd-election-timeout'],
    shardedReads: gates.enabled('ShardedListAndWatch'),
    readMeasures: createReadMeasures(metrics),
  });
  cleanup.defer('watch cache', () => cache.close());
  publishWatchCache(metrics, { cache, resources, client });
  encryption.onChange(retryUnreadable);
  addStorageChecks(health, { client, cache, clock });
  const namespaceResource = resources.find(({ kind }) => kind === namespaceKind);
  return {
    kinds,
    client,
    ownPrefix,
    resources,
    views,
    filled: cache.firstLoad,
    namespaces: namespaceResource && createNamespaces(namespaceResource, clock),
  };
}
