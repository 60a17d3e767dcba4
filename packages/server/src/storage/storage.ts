import { pollChanges, type CleanupStack } from '@cluster-apiserver/base';
import type { StoredKinds } from '@cluster-apiserver/registry';
import {
  type GetCredentials,
  EtcdClient,
  type EtcdEvent,
  type HistoryReplaced,
  etcdStore,
  type FollowedStore,
  type Transformer,
  type WatchCacheEvent,
} from '@cluster-apiserver/storage';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { ServerFlags } from '../flags/flags.ts';
import type { Environment } from '../environment.ts';
import type { CertificateMeasures } from '../files/certificate-measures.ts';
import type { FileRecords } from '../configuration/configz.ts';
import { publishDatabaseSize } from './database-size.ts';
import { createEtcdMeasures, type StorageMeasures } from './etcd-measures.ts';
import { loadCertificatePair, loadCertificates } from '../files/pem-files.ts';

/** The etcd client, and the store that encrypts values. */
export async function openStorage(
  flags: ServerFlags,
  {
    ownPrefix,
    transformer,
    metrics,
    storedKinds,
    certificates,
    records,
  }: {
    readonly certificates: CertificateMeasures;
    readonly records: FileRecords;
    readonly ownPrefix: string;
    readonly transformer: Transformer;
    readonly metrics: Metrics;
    readonly storedKinds: StoredKinds;
  },
  { clock, random, files, connectEtcd }: Environment,
  log: Log,
  cleanup: CleanupStack,
): Promise<{ client: EtcdClient; store: FollowedStore; measures: StorageMeasures }> {
  const measures = createEtcdMeasures(metrics, storedKinds);
  const etcdLog = log.withName('etcd');
  const credentials = await followCredentials(flags, { clock, files, certificates, records }, etcdLog, cleanup);
  const client = new EtcdClient({
    endpoints: flags['etcd-servers'],
    connect: connectEtcd(clock, credentials, { electionTimeoutMs: flags['etcd-election-timeout'] }),
    clock,
    random,
    // Below the prefix: the etcd user may have permissions for that only.
    probeKey: `${ownPrefix}head`,
    electionTimeoutMs: flags['etcd-election-timeout'],
    measures,
    report: (event) => reportEtcd(event, etcdLog, measures),
  });
  cleanup.defer('etcd', () => client.close());
  cleanup.defer('size of etcd', publishDatabaseSize(metrics, client));
  return { client, store: etcdStore({ client, transformer, internalPrefix: ownPrefix }), measures };
}

/** Long, because certificates are rotated long before they expire, and new connections are rare. */
const credentialsPollMs = 10_000;

/** The TLS credentials for new connections to etcd, reloaded when their files change. */
async function followCredentials(
  flags: ServerFlags,
  {
    clock,
    files,
    certificates,
    records,
  }: Pick<Environment, 'clock' | 'files'> & {
    readonly certificates: CertificateMeasures;
    readonly records: FileRecords;
  },
  log: Log,
  cleanup: CleanupStack,
): Promise<GetCredentials> {
  const fileRecords = new Map(
    credentialFiles
      .filter(({ flag }) => flags[flag] !== '')
      .map(({ name, flag, kind }) => [name, records.add({ flag, kind, path: flags[flag] })] as const),
  );
  const noteUse = (used: Credentials): void => {
    certificates.inUse('etcd-ca', used.ca);
    certificates.inUse('etcd-client', used.cert);
    for (const [name, record] of fileRecords) record.applied(used[name] ?? '');
  };
  // Fails while only one of the two files of a pair has been replaced.
  const read = async (): Promise<Credentials> => ({
    ca: await loadCertificates('etcd-cafile', flags, files),
    ...(flags['etcd-certfile'] === ''
      ? {}
      : await loadCertificatePair(['etcd-certfile', 'etcd-keyfile'], flags, files)),
  });
  let current = await read();
  noteUse(current);
  const stop = pollChanges<Credentials>(
    {
      clock,
      pollMs: credentialsPollMs,
      read,
      isEqual: (one, other) => credentialFiles.every(({ name }) => isSame(one[name], other[name])),
      apply: (next) => {
        current = next;
        noteUse(next);
        certificates.reloaded('etcd-client', 'success');
        log.info('etcd client credentials reloaded');
      },
      onError: (error) => {
        // They are loaded together.
        for (const record of fileRecords.values()) record.failed(error);
        certificates.reloaded('etcd-client', 'failure');
        log.error('cannot reload etcd client credentials; keeping the old ones', { error: asError(error) });
      },
    },
    current,
  );
  cleanup.defer('etcd credentials', stop);
  return () => {
    const { ca, cert, key } = current;
    return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  };
}

const credentialFiles = [
  { name: 'ca', flag: 'etcd-cafile', kind: 'certificates' },
  { name: 'cert', flag: 'etcd-certfile', kind: 'certificate' },
  { name: 'key', flag: 'etcd-keyfile', kind: 'private key' },
] as const;

type Credentials = Readonly<Partial<Record<(typeof credentialFiles)[number]['name'], Buffer | undefined>>>;

const isSame = (one: Buffer | undefined, other: Buffer | undefined): boolean =>
  one === other || (one !== undefined && other !== undefined && one.equals(other));

function reportEtcd(event: EtcdEvent, log: Log, measures: StorageMeasures): void {
  switch (event.type) {
    case 'lacks':
      return log.warn('etcd lacks a capability; working without it', {
        endpoint: event.endpoint,
        version: event.version,
        capability: event.capability,
      });
    case 'outage began':
      return log.error('etcd unreachable; rejecting requests until it recovers', { error: asError(event.cause) });
    case 'outage ended':
      return log.info('etcd reachable again', { afterMs: Math.round(event.afterMs) });
    case 'history replaced':
      return reportReplacement(event, log);
    case 'foreign member':
      return log.error('etcd endpoint belongs to another cluster than the others; ignoring it', {
        endpoint: event.endpoint,
      });
    case 'full':
      measures.isFull(true);
      return log.error('etcd is out of space; rejecting writes other than deletions until an operator makes room');
    case 'not full':
      measures.isFull(false);
      return log.info('etcd accepts writes again');
    case 'watch lost':
      return log.warn('lost a watch of etcd; continuing it at another member', { error: asError(event.cause) });
    case 'watch refused':
      return log.error('etcd rejects the watch of all objects; changes of other writers are not visible', {
        error: asError(event.cause),
      });
    case 'watch accepted':
      return log.info('etcd accepts the watch again');
    case 'access refused':
      return log.error('etcd denies a write to its user; check the rights of the user in etcd', {
        error: asError(event.cause),
      });
    case 'access granted':
      return log.info('etcd grants its user the write again');
  }
}

function reportReplacement({ reason, before, now }: HistoryReplaced, log: Log): void {
  if (reason === 'compacted')
    log.error(
      'etcd has compacted all known revisions: it was restored as of a later one, or unreachable for long; expiring all watches and rejecting requests until the watch cache is rebuilt',
      { reason, revisionBefore: before, revisionNow: now },
    );
  else
    log.error(
      'etcd was restored, rebuilt or swapped; expiring all watches and rejecting requests until the watch cache is rebuilt',
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
        return log.withName('watch-cache').error('objects cannot be loaded; rejecting reads of them', {
          prefix: event.prefix,
          error: asError(event.cause),
        });
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
          .warn('watch cache lost its watch; listing all objects again', { error: asError(event.cause) });
    }
  };
