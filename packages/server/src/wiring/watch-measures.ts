import type { ServedKind } from '@cluster-apiserver/model';
import { watchEnds, type WatchMeasures } from '@cluster-apiserver/pipeline';
import { createDoublingBuckets, type Metrics } from '@cluster-apiserver/telemetry';

/** The watch metrics of kube-apiserver. All label values come from served kinds, never from clients. */
export function createWatchMeasures(metrics: Metrics, kinds: readonly ServedKind[]): WatchMeasures {
  const served = (name: (kind: ServedKind) => string): string[] => [...new Set(kinds.map(name))];
  const groups = served(({ group }) => group);
  const resources = served(({ plural }) => plural);
  const open = metrics.gauge({
    name: 'apiserver_longrunning_requests',
    help: 'Active long-running requests.',
    labels: {
      verb: ['WATCH'],
      group: groups,
      version: served(({ version }) => version),
      resource: resources,
      subresource: [''],
      scope: ['cluster', 'namespace', 'resource'],
      component: ['apiserver'],
    },
  });
  const terminated = metrics.counter({
    name: 'apiserver_terminated_watchers_total',
    help: 'Watches ended because their clients stopped reading.',
    labels: { group: groups, resource: resources },
  });
  const ends = metrics.counter({
    name: 'apiserver_watches_ended_total',
    help: 'Watches that ended, by reason.',
    labels: { reason: watchEnds },
  });
  const endsByReason = new Map(watchEnds.map((reason) => [reason, ends.series({ reason })]));
  const ofEvents = { group: 'any', version: 'any', resource: 'any' } as const; // bounded by the served kinds
  const events = metrics.counter({
    name: 'apiserver_watch_events_total',
    help: 'Number of events sent in watch clients',
    labels: ofEvents,
  });
  const sizes = metrics.histogram({
    name: 'apiserver_watch_events_sizes',
    help: 'Watch event size distribution in bytes. Events that were sent together count with their mean.',
    labels: ofEvents,
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
