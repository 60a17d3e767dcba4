import { asError, type CleanupStack, type Clock } from '@cluster-apiserver/base';
import type { StoredKinds } from '@cluster-apiserver/registry';
import {
  EtcdClient,
  type EtcdEvent,
  type HistoryReplaced,
  EtcdStore,
  type FollowedStore,
  type Transformer,
  type WatchCacheEvent,
} from '@cluster-apiserver/storage';
import { createOutages, type Log } from '@cluster-apiserver/telemetry';
import type { ServerContext } from '../configuration/context.ts';
import { publishDatabaseSize } from './database-size.ts';
import { createEtcdMeasures, type StorageMeasures } from './etcd-measures.ts';
import { followEtcdCredentials } from './etcd-credentials.ts';
import type { StorageSettings } from './storage-settings.ts';

/** The etcd client, and the store that encrypts values. */
export async function openStorage(
  settings: StorageSettings,
  { storedKinds, transformer }: { readonly storedKinds: StoredKinds; readonly transformer: Transformer },
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<{ client: EtcdClient; store: FollowedStore; measures: StorageMeasures }> {
  const { endpoints, electionTimeoutMs, ownPrefix } = settings;
  const { environment, metrics, log } = context;
  const measures = createEtcdMeasures(metrics, storedKinds);
  const etcdLog = log.withName('etcd');
  const { clock, random, connectEtcd } = environment;
  const credentials = await followEtcdCredentials(settings, context, cleanup);
  const client = new EtcdClient({
    endpoints,
    connect: connectEtcd(clock, credentials, { electionTimeoutMs }),
    clock,
    random,
    // Below the prefix: the etcd user may have permissions for that only.
    probeKey: `${ownPrefix}head`,
    electionTimeoutMs,
    measures,
    report: createEtcdReporter(etcdLog, clock, measures),
  });
  cleanup.defer('etcd', () => client.close());
  cleanup.defer('size of etcd', publishDatabaseSize(metrics, client));
  return { client, store: new EtcdStore({ client, transformer, internalPrefix: ownPrefix }), measures };
}

function createEtcdReporter(log: Log, clock: Clock, measures: StorageMeasures): (event: EtcdEvent) => void {
  const outages = createOutages(log, clock, {
    severity: 'error',
    began: 'etcd unreachable; rejecting requests until it recovers',
    remedy: 'check that a majority of the members of --etcd-servers runs and answers: docs/runbooks.md',
    ended: 'etcd reachable again',
  });
  return (event) => {
    switch (event.type) {
      case 'outage':
      case 'outage goes on':
        return outages.failed({}, { error: asError(event.cause) });
      case 'outage ended':
        return outages.succeeded({});
      default:
        return reportState(event, log, measures);
    }
  };
}

type StateEvent = Exclude<EtcdEvent, { readonly type: `outage${string}` }>;

function reportState(event: StateEvent, log: Log, measures: StorageMeasures): void {
  switch (event.type) {
    case 'lacks':
      return log.warn('etcd lacks a capability; working without it', 'upgrade etcd: docs/operate.md', {
        endpoint: event.endpoint,
        version: event.version,
        capability: event.capability,
      });
    case 'history replaced':
      return reportReplacement(event, log);
    case 'foreign member':
      return log.error(
        'etcd endpoint belongs to another cluster than the others; ignoring it',
        'correct --etcd-servers, or rebuild the member as one of this cluster: docs/backup.md',
        {
          endpoint: event.endpoint,
        },
      );
    case 'full':
      measures.isFull(true);
      return log.error(
        'etcd is out of space; rejecting writes other than deletions until an operator makes room',
        'compact, defragment and disarm the alarm, or raise --quota-backend-bytes of etcd: docs/runbooks.md',
      );
    case 'not full':
      measures.isFull(false);
      return log.info('etcd accepts writes again');
    case 'watch lost':
      return log.info('lost a watch of etcd; continuing it at another member', { error: asError(event.cause) });
    case 'watch refused':
      return log.error(
        'etcd rejects the watch of all objects; changes of other writers are not visible',
        'grant the user of etcd the right to read all keys below --etcd-prefix: docs/operate.md',
        {
          error: asError(event.cause),
        },
      );
    case 'watch accepted':
      return log.info('etcd accepts the watch again');
    case 'access refused':
      return log.error(
        'etcd denies a write to its user; check the rights of the user in etcd',
        'grant the user readwrite to all keys below --etcd-prefix: docs/operate.md',
        {
          error: asError(event.cause),
        },
      );
    case 'access granted':
      return log.info('etcd grants its user the write again');
  }
}

function reportReplacement({ reason, before, now }: HistoryReplaced, log: Log): void {
  if (reason === 'compacted')
    log.error(
      'etcd has compacted all known revisions: it was restored as of a later one, or unreachable for long; expiring all watches and rejecting requests until the watch cache is rebuilt',
      'nothing after an intended restore: clients list again; docs/backup.md otherwise',
      { reason, revisionBefore: before, revisionNow: now },
    );
  else
    log.error(
      'etcd was restored, rebuilt or swapped; expiring all watches and rejecting requests until the watch cache is rebuilt',
      'nothing after an intended restore; otherwise check --etcd-servers and the data of each member: docs/backup.md',
      { reason, revisionBefore: before, revisionNow: now },
    );
}

export const createWatchCacheReporter =
  (log: Log, measures: StorageMeasures) =>
  (event: WatchCacheEvent): void => {
    switch (event.type) {
      case 'loaded': {
        const { items, revision, tookMs } = event;
        return log
          .withName('watch-cache')
          .info('watch cache ready', { objects: items, revision, tookMs: Math.round(tookMs) });
      }
      case 'suspended':
        return log
          .withName('watch-cache')
          .error(
            'objects cannot be loaded; rejecting reads of them',
            'configure the key that encrypted them, or repair the KMS plugin: docs/encryption.md',
            {
              prefix: event.prefix,
              error: asError(event.cause),
            },
          );
      case 'collection loaded':
        return log
          .withName('watch-cache')
          .info('objects loaded', { prefix: event.prefix, objects: event.items, revision: event.revision });
      case 'history replaced':
        return measures.historyReplaced(event.reason);
      case 'lost':
        measures.cacheLost();
        return log
          .withName('watch-cache')
          .warn(
            'watch cache lost its watch; listing all objects again',
            'nothing if it is rare; otherwise raise the interval of compactions or check the disks of etcd: docs/runbooks.md',
            { error: asError(event.cause) },
          );
    }
  };
