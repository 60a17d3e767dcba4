import { watchEnds, type WatchMeasures } from '@cluster-apiserver/pipeline';
import { createDoublingBuckets, type Metrics } from '@cluster-apiserver/telemetry';

/** The watch metrics of kube-apiserver. All label values come from served kinds, never from clients. */
export function createWatchMeasures(metrics: Metrics): WatchMeasures {
  const ofKind = { group: 'any', version: 'any', resource: 'any' } as const; // bounded by the served kinds
  const open = metrics.gauge({
    name: 'apiserver_longrunning_requests',
    help: 'Active long-running requests.',
    labels: {
      verb: ['WATCH'],
      ...ofKind,
      subresource: [''],
      scope: ['cluster', 'namespace', 'resource'],
      component: ['apiserver'],
    },
  });
  const terminated = metrics.counter({
    name: 'apiserver_terminated_watchers_total',
    help: 'Watches ended because their clients stopped reading.',
    labels: { group: 'any', resource: 'any' },
  });
  const ends = metrics.counter({
    name: 'apiserver_watches_ended_total',
    help: 'Watches that ended, by reason.',
    labels: { reason: watchEnds },
  });
  const endsByReason = new Map(watchEnds.map((reason) => [reason, ends.series({ reason })]));
  const events = metrics.counter({
    name: 'apiserver_watch_events_total',
    help: 'Number of events sent in watch clients',
    labels: ofKind,
  });
  const sizes = metrics.histogram({
    name: 'apiserver_watch_events_sizes',
    help: 'Watch event size distribution in bytes. Events that were sent together count with their mean.',
    labels: ofKind,
    buckets: createDoublingBuckets(1024, 8),
  });
  return {
    begin: ({ group, version, resource, scope }) => {
      const of = { group, version, resource };
      const running = open.series({ ...of, verb: 'WATCH', subresource: '', scope, component: 'apiserver' });
      const sent = events.series(of);
      const sized = sizes.means(of);
      running(1);
      return {
        countSent: (count, bytes) => {
          sent(count);
          sized(bytes, count);
        },
        countStalled: () => terminated.add({ group, resource }),
        end: (why) => {
          running(-1);
          if (why) endsByReason.get(why)?.(1);
        },
      };
    },
  };
}
