import { requireValue } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model/kind';
import type { StoredKinds } from '@cluster-apiserver/registry';
import type { EtcdMeasures, EtcdOperation } from '@cluster-apiserver/storage';
import { type Metrics, type Observe, secondsBuckets } from '@cluster-apiserver/telemetry';

export interface StorageMeasures extends EtcdMeasures {
  /** etcd was restored, rebuilt or swapped. */
  historyReplaced(reason: string): void;
  /** Whether etcd is out of space. */
  isFull(isFull: boolean): void;
  /** Whether no call to etcd succeeds. */
  isUnreachable(isUnreachable: boolean): void;
  /** The watch cache lists all objects again. */
  cacheLost(): void;
}

const operations: readonly EtcdOperation[] = ['get', 'list', 'create', 'update', 'delete'];

/** The series of one operation on one resource, looked up once. */
interface OperationSeries {
  readonly count: () => void;
  readonly observeSeconds: Observe;
}

/** Metrics of the clients of these etcds, by their ids, under the names of kube-apiserver where it has them. */
export function createEtcdMeasures(
  metrics: Metrics,
  storedKinds: StoredKinds,
  ids: readonly string[],
): (id: string) => StorageMeasures {
  const clusters = { storage_cluster_id: ids };
  // Label values come from the keys of this server, so their number is bounded.
  const labels = { operation: operations, group: 'any', resource: 'any' } as const;
  const duration = metrics.histogram({
    name: 'etcd_request_duration_seconds',
    help: 'Duration of etcd operations in seconds, with all their attempts, by operation and resource.',
    labels,
    buckets: secondsBuckets,
  });
  const requests = metrics.counter({
    name: 'etcd_requests_total',
    help: 'Number of etcd operations by operation and resource.',
    labels,
  });
  const errors = metrics.counter({
    name: 'etcd_request_errors_total',
    help: 'Number of failed etcd operations by operation and resource. Conflicts are not failures.',
    labels,
  });
  const attempts = metrics.counter({
    name: 'etcd_client_attempts_total',
    help: 'Number of attempts at one member of etcd, by outcome.',
    labels: { ...clusters, outcome: ['answered', 'refused', 'lost', 'unsent'] },
  });
  const unknownAttempts = metrics.counter({
    name: 'etcd_client_write_attempts_unknown_outcome_total',
    help: 'Number of attempts to write that ended without an answer, so that their outcome is unknown.',
    labels: clusters,
  });
  const unknownWrites = metrics.counter({
    name: 'etcd_client_writes_unknown_outcome_total',
    help: 'Number of writes answered with 504 because their outcome stayed unknown.',
    labels: clusters,
  });
  const fences = metrics.counter({
    name: 'etcd_client_fences_total',
    help: 'Number of create attempts of unknown outcome that were fenced off.',
    labels: clusters,
  });
  const connections = metrics.counter({
    name: 'etcd_client_connections_total',
    help: 'Number of connections to members of etcd that were opened and verified.',
    labels: clusters,
  });
  const watches = metrics.counter({
    name: 'etcd_client_watch_interruptions_total',
    help: 'Number of etcd watches that ended, by cause.',
    labels: { ...clusters, cause: ['loss', 'refusal'] },
  });
  const full = metrics.counter({
    name: 'etcd_client_writes_out_of_space_total',
    help: 'Number of writes that etcd refused because it is out of space.',
    labels: clusters,
  });
  const replaced = metrics.counter({
    name: 'etcd_history_replaced_total',
    help: 'Number of times that etcd was found restored, rebuilt or swapped, by what revealed it.',
    labels: { ...clusters, reason: ['cluster id', 'revision', 'content', 'compacted'] },
  });
  const lost = metrics.counter({
    name: 'apiserver_watch_cache_reinitializations_total',
    help: 'Number of times that the watch cache lost its watch and lists all objects again.',
    labels: clusters,
  });
  const spaceAlarm = metrics.gauge({
    name: 'etcd_out_of_space',
    help: 'Whether etcd refuses writes other than deletions because its space is used up: 1 if so, else 0.',
    labels: clusters,
  });
  const unreachable = metrics.gauge({
    name: 'etcd_unreachable',
    help: 'Whether no member of etcd answers with a majority of the others: 1 if so, else 0.',
    labels: clusters,
  });
  const labelsOf = (operation: EtcdOperation, of: Kind | string) =>
    typeof of === 'string'
      ? { operation, group: '', resource: of }
      : { operation, group: of.group, resource: of.plural };
  const byOperation = new Map(
    operations.map((operation) => [operation, new Map<Kind | string, OperationSeries>()] as const),
  );
  storedKinds.onChange(() => {
    for (const byKind of byOperation.values()) byKind.clear();
  });
  const seriesOf = (operation: EtcdOperation, of: Kind | string): OperationSeries => {
    const byKind = requireValue(byOperation.get(operation));
    let series = byKind.get(of);
    if (!series) {
      const what = labelsOf(operation, of);
      byKind.set(of, (series = { count: requests.series(what), observeSeconds: duration.series(what) }));
    }
    return series;
  };
  return (id) => {
    const at = { storage_cluster_id: id };
    spaceAlarm.set(at, 0);
    unreachable.set(at, 0);
    for (const counter of [unknownAttempts, unknownWrites, fences, connections, full, lost]) counter.add(at, 0);
    const countAnswered = attempts.series({ ...at, outcome: 'answered' });
    return {
      operationEnded: (operation, key, seconds, failed) => {
        const of = storedKinds.ofKey(key) ?? otherName(key.slice(storedKinds.keyPrefix.length + 1));
        const { count, observeSeconds } = seriesOf(operation, of);
        count();
        observeSeconds(seconds);
        if (failed) errors.add(labelsOf(operation, of));
      },
      attemptEnded: (outcome) => (outcome === 'answered' ? countAnswered() : attempts.add({ ...at, outcome })),
      attemptMaybeApplied: () => unknownAttempts.add(at),
      writeOutcomeUnknown: () => unknownWrites.add(at),
      attemptFenced: () => fences.add(at),
      connectionVerified: () => connections.add(at),
      refusedForSpace: () => full.add(at),
      watchEnded: (cause) => watches.add({ ...at, cause }),
      historyReplaced: (reason) => replaced.add({ ...at, reason }),
      cacheLost: () => lost.add(at),
      isUnreachable: (isUnreachable) => unreachable.set(at, isUnreachable ? 1 : 0),
      isFull: (isFull) => spaceAlarm.set(at, isFull ? 1 : 0),
    };
  };
}

/** The name of what belongs to no kind: all keys, those of the servers themselves, or those of kinds that are not served. */
const otherName = (path: string): string =>
  path === '' || path.startsWith('.') ? (path.split('/', 1)[0] ?? '') : 'other';
