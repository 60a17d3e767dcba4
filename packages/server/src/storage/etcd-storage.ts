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
import { publishDatabaseSizes } from './database-size.ts';
import { createEtcdMeasures, type StorageMeasures } from './etcd-measures.ts';
import { followEtcdCredentials } from './etcd-credentials.ts';
import type { EtcdSettings } from './etcd-overrides.ts';
import type { StorageSettings } from './storage-settings.ts';

/** An open etcd: its client, and the store that encrypts values. */
export interface OpenEtcd extends EtcdSettings {
  readonly client: EtcdClient;
  readonly store: FollowedStore;
  readonly measures: StorageMeasures;
}

/** Opens all etcds, in their order. They share credentials, encryption and metrics. */
export async function openStorage(
  settings: StorageSettings,
  { storedKinds, transformer }: { readonly storedKinds: StoredKinds; readonly transformer: Transformer },
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<readonly [OpenEtcd, ...OpenEtcd[]]> {
  const { etcds, electionTimeoutMs, ownPrefix } = settings;
  const { environment, metrics, log } = context;
  const measuresOf = createEtcdMeasures(
    metrics,
    storedKinds,
    etcds.map(({ id }) => id),
  );
  const { clock, random, connectEtcd } = environment;
  const credentials = await followEtcdCredentials(settings, context, cleanup);
  const open = (etcd: EtcdSettings): OpenEtcd => {
    const { id, endpoints } = etcd;
    const measures = measuresOf(id);
    const client = new EtcdClient({
      endpoints,
      connect: connectEtcd(clock, credentials, { electionTimeoutMs }),
      clock,
      random,
      // Below the prefix: the etcd user may have permissions for that only.
      probeKey: `${ownPrefix}head`,
      electionTimeoutMs,
      failsAtOnce: etcd !== etcds[0],
      measures,
      report: createEtcdReporter(log.withName(etcd === etcds[0] ? 'etcd' : id), clock, { ...etcd, measures }),
    });
    cleanup.defer(id, () => client.close());
    return { ...etcd, client, store: new EtcdStore({ client, transformer, internalPrefix: ownPrefix }), measures };
  };
  const [first, ...others] = etcds;
  const opened = [open(first), ...others.map(open)] as const;
  cleanup.defer('size of etcd', publishDatabaseSizes(metrics, opened));
  return opened;
}

function createEtcdReporter(
  log: Log,
  clock: Clock,
  { resources, measures }: Pick<OpenEtcd, 'resources' | 'measures'>,
): (event: EtcdEvent) => void {
  // The others are served meanwhile.
  const of = resources.size === 0 ? {} : { kinds: [...resources].join() };
  const outages = createOutages(log, clock, {
    severity: 'error',
    // Meaning: No member of etcd answers, or they have no leader. Requests get 503, and watches stay open without
    // events.
    began: 'etcd unreachable; rejecting requests until it recovers',
    remedy: 'check that a majority of its members runs and answers: docs/runbooks.md',
    ended: 'etcd reachable again',
  });
  return (event) => {
    switch (event.type) {
      case 'outage':
      case 'outage goes on':
        measures.isUnreachable(true);
        return outages.failed(of, { error: asError(event.cause) });
      case 'outage ended':
        measures.isUnreachable(false);
        return outages.succeeded(of);
      default:
        return reportState(event, log, measures);
    }
  };
}

type StateEvent = Exclude<EtcdEvent, { readonly type: `outage${string}` }>;

function reportState(event: StateEvent, log: Log, measures: StorageMeasures): void {
  switch (event.type) {
    case 'history replaced':
      return reportReplacement(event, log);
    case 'foreign member':
      return log.error(
        // Meaning: One of the endpoints has other data than the rest. Reading it would mix two clusters.
        'etcd endpoint belongs to another cluster than the others; ignoring it',
        'correct --etcd-servers or --etcd-servers-overrides, or rebuild the member as one of this cluster: docs/backup.md',
        {
          endpoint: event.endpoint,
        },
      );
    case 'old member':
      // Meaning: Reads and watches through this member may miss changes: its progress notifications are not in the
      // order of its events.
      return log.error('etcd is too old; ignoring this member', 'upgrade etcd: docs/reliability.md', {
        endpoint: event.endpoint,
        version: event.version,
      });
    case 'full':
      measures.isFull(true);
      return log.error(
        // Meaning: The database reached its quota, and etcd has raised its alarm. Creations and updates are refused.
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
        // Meaning: The user of this server in etcd may not watch. Reads are answered as of the last change that was
        // seen.
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
        // Meaning: The user of this server in etcd may not write this key, so the request of the client failed.
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
      // Meaning: The changes since the last known revision cannot be read any more, so the replica reads all objects
      // again.
      'etcd has compacted all known revisions: it was restored as of a later one, or unreachable for long; expiring all watches and rejecting requests until the watch cache is rebuilt',
      'nothing after an intended restore: clients list again; docs/backup.md otherwise',
      { reason, revisionBefore: before, revisionNow: now },
    );
  else
    log.error(
      // Meaning: The revisions or the identity of etcd went back or changed. What clients hold may not exist there, so
      // they list again.
      'etcd was restored, rebuilt or swapped; expiring all watches and rejecting requests until the watch cache is rebuilt',
      'nothing after an intended restore; otherwise check --etcd-servers, --etcd-servers-overrides and the data of each member: docs/backup.md',
      { reason, revisionBefore: before, revisionNow: now },
    );
}

export const createWatchCacheReporter =
  (server: Log, { id, resources, measures }: Pick<OpenEtcd, 'id' | 'resources' | 'measures'>) =>
  (event: WatchCacheEvent): void => {
    const log = server.withName(resources.size === 0 ? 'watch-cache' : `watch-cache-of-${id}`);
    switch (event.type) {
      case 'loaded': {
        const { items, revision, tookMs } = event;
        return log.info('watch cache ready', { objects: items, revision, tookMs: Math.round(tookMs) });
      }
      case 'suspended':
        return log.error(
          // Meaning: Objects below the prefix cannot be decrypted now. Requests for their kinds get 503; other kinds
          // are served.
          'objects cannot be loaded; rejecting reads of them',
          'configure the key that encrypted them, or repair the KMS plugin: docs/encryption.md',
          {
            prefix: event.prefix,
            error: asError(event.cause),
          },
        );
      case 'collection loaded':
        return log.info('objects loaded', { prefix: event.prefix, objects: event.items, revision: event.revision });
      case 'history replaced':
        return measures.historyReplaced(event.reason);
      case 'lost':
        measures.cacheLost();
        return log.warn(
          // Meaning: etcd compacted revisions that this replica had not read yet. It serves reads only when all objects
          // are loaded again.
          'watch cache lost its watch; listing all objects again',
          'nothing if it is rare; otherwise raise the interval of compactions or check the disks of etcd: docs/runbooks.md',
          { error: asError(event.cause) },
        );
    }
  };
