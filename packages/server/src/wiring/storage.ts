import type { Scope } from '@cluster-apiserver/base';
import {
  type EtcdClient,
  etcdStore,
  openEtcdClient,
  type Store,
  type Transformer,
  type WatchCacheEvent,
} from '@cluster-apiserver/storage';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { ServerFlags } from '../flags.ts';
import type { Surroundings } from '../surroundings.ts';
import { flagFile } from './flag-files.ts';

/** The store of this server: etcd, behind what encrypts. */
export async function openStorage(
  flags: ServerFlags,
  { ownPrefix, transformer }: { readonly ownPrefix: string; readonly transformer: Transformer },
  { clock, random, files, connectEtcd }: Surroundings,
  log: Log,
  scope: Scope,
): Promise<{ client: EtcdClient; store: Store }> {
  const ca = await flagFile('etcd-cafile', flags, files);
  const cert = await flagFile('etcd-certfile', flags, files);
  const key = await flagFile('etcd-keyfile', flags, files);
  const client = openEtcdClient({
    endpoints: flags['etcd-servers'],
    connect: connectEtcd(clock, { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }),
    clock,
    random,
    electionTimeoutMs: flags['etcd-election-timeout'],
    report: (event) => {
      if (event.type === 'lacks')
        log.warn('this etcd lacks something that would be used', {
          endpoint: event.endpoint,
          version: event.version,
          lacks: event.capability,
        });
      else if (event.type === 'outage began')
        log.error('etcd gives no answers; requests are refused until it does', { error: asError(event.cause) });
      else log.info('etcd answers again', { afterMs: Math.round(event.afterMs) });
    },
  });
  scope.onClose('etcd', () => client.close());
  return { client, store: etcdStore({ client, transformer, ownPrefix }) };
}

export const watchCacheReporter =
  (log: Log) =>
  (event: WatchCacheEvent): void => {
    if (event.type === 'loaded') {
      const { items, revision, tookMs } = event;
      log.info('all objects are in memory', { objects: items, revision, tookMs: Math.round(tookMs) });
    } else log.warn('the watch of all objects was lost; they are read again', { error: asError(event.cause) });
  };
