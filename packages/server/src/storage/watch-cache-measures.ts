import type { Kind } from '@cluster-apiserver/model/kind';
import { type LiveApi, type Registry, type Resource, unreadableTerm } from '@cluster-apiserver/registry';
import type { EtcdClient, ReadMeasures } from '@cluster-apiserver/storage';
import type { Metrics, Observe } from '@cluster-apiserver/telemetry';

/** Buckets of kube-apiserver: reads that wait for longer than some seconds are rejected. */
const readWaitBuckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3];

/** The series of one kind, looked up once. */
interface ReadSeries {
  readonly wait: Observe;
  readonly succeeded: () => void;
  readonly failed: () => void;
}

/** Metrics of reads that wait for the watch cache, by kind. */
export function createReadMeasures(metrics: Metrics): (kind: Kind) => ReadMeasures {
  const labels = { group: 'any', resource: 'any' } as const; // bounded by the served kinds
  const wait = metrics.histogram({
    name: 'apiserver_watch_cache_read_wait_seconds',
    help: 'Histogram of time spent waiting for a watch cache to become fresh.',
    labels,
    buckets: readWaitBuckets,
  });
  const consistent = metrics.counter({
    name: 'apiserver_watch_cache_consistent_read_total',
    help: 'Counter for consistent reads from cache. They never fall back to etcd.',
    labels: { ...labels, success: ['true', 'false'], fallback: ['false'] },
  });
  return ({ group, plural: resource }) => {
    const begin = (): ReadSeries => ({
      wait: wait.series({ group, resource }),
      succeeded: consistent.series({ group, resource, success: 'true', fallback: 'false' }),
      failed: consistent.series({ group, resource, success: 'false', fallback: 'false' }),
    });
    // A kind that is never read has no series.
    let series: ReadSeries | undefined;
    return {
      notOlder: (waitedMs) => (series ??= begin()).wait(waitedMs / 1000),
      consistent: (waitedMs, success) => {
        series ??= begin();
        series.wait(waitedMs / 1000);
        (success ? series.succeeded : series.failed)();
      },
    };
  };
}

/** An etcd with its watch cache. */
interface CachedEtcd {
  readonly id: string;
  readonly client: Pick<EtcdClient, 'history'>;
  readonly cache: Pick<Registry['cache'], 'currentRevision' | 'progressAgeMs' | 'waitingReads'>;
}

/** Lag and content of the watch caches. */
export function publishWatchCaches(metrics: Metrics, api: LiveApi, etcds: readonly CachedEtcd[]): void {
  const publish = (name: string, help: string, read: (etcd: CachedEtcd) => number): void =>
    metrics.readAtScrape<'storage_cluster_id'>('gauge', { name, help, labels: ['storage_cluster_id'] }, () =>
      etcds.map((etcd) => ({ labels: { storage_cluster_id: etcd.id }, value: read(etcd) })),
    );
  publish(
    'apiserver_watch_cache_revision_lag',
    'Revisions by which the watch cache is behind the latest one reported by etcd.',
    ({ client, cache }) => Math.max(0, client.history.revision - cache.currentRevision),
  );
  publish(
    'apiserver_watch_cache_progress_age_seconds',
    'Seconds since etcd last reported a change or its progress to the watch cache.',
    ({ cache }) => cache.progressAgeMs / 1000,
  );
  publish(
    'apiserver_watch_cache_waiting_reads',
    'Reads that wait for the watch cache to catch up with etcd.',
    ({ cache }) => cache.waitingReads,
  );
  publishResources(metrics, () => api.stored);
}

type ReadResource = (resource: Resource) => number;

/** Metrics of each resource, with the labels `group` and `resource`. */
const resourceMetrics: readonly (readonly [
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  read: ReadResource,
])[] = [
  [
    'gauge',
    'apiserver_watch_cache_resource_version',
    'Current resource version of watch cache broken by resource type.',
    ({ collection }) => collection.currentRevision,
  ],
  [
    'gauge',
    'apiserver_watch_cache_unreadable_objects',
    'Number of stored objects that cannot be decrypted or decoded at present.',
    ({ collection }) => collection.countTerm(unreadableTerm),
  ],
  [
    'gauge',
    'apiserver_watch_cache_suspended',
    '1 while the objects of a resource are not served because an encryption key is unavailable.',
    ({ collection }) => Number(collection.isSuspended),
  ],
  [
    'gauge',
    'apiserver_resource_objects',
    'Number of stored objects split by kind, as the watch cache has them.',
    ({ collection }) => collection.statistics.objects,
  ],
  [
    'counter',
    'apiserver_watch_cache_initializations_total',
    'Counter of watch cache initializations broken by resource type.',
    ({ collection }) => collection.statistics.initializations,
  ],
  [
    'counter',
    'apiserver_watch_cache_events_received_total',
    'Counter of events received in watch cache broken by resource type.',
    ({ collection }) => collection.statistics.eventsReceived,
  ],
  [
    'counter',
    'apiserver_watch_cache_events_dispatched_total',
    'Counter of events dispatched in watch cache broken by resource type.',
    ({ collection }) => collection.statistics.eventsDispatched,
  ],
  [
    'gauge',
    'watch_cache_capacity',
    'Number of changes that the watch cache holds for watches to resume from, broken by resource type.',
    ({ collection }) => collection.statistics.windowChanges,
  ],
  [
    'gauge',
    'apiserver_watch_cache_window_bytes',
    'Approximate memory of the changes held for watches to resume from.',
    ({ collection }) => collection.statistics.windowBytes,
  ],
];

function publishResources(metrics: Metrics, resources: () => readonly Resource[]): void {
  for (const [type, name, help, read] of resourceMetrics)
    metrics.readAtScrape<'group' | 'resource'>(type, { name, help, labels: ['group', 'resource'] }, () =>
      resources().map((resource) => ({
        labels: { group: resource.kind.group, resource: resource.kind.plural },
        value: read(resource),
      })),
    );
  metrics.readAtScrape(
    'gauge',
    {
      name: 'apiserver_storage_objects',
      help: 'Number of stored objects split by kind. As apiserver_resource_objects, which upstream has in its place.',
      labels: ['resource'],
    },
    () =>
      resources().map(({ kind: { group, plural }, collection }) => ({
        labels: { resource: group === '' ? plural : `${plural}.${group}` },
        value: collection.statistics.objects,
      })),
  );
}
