import { createDoublingBuckets, type Metrics } from '@cluster-apiserver/telemetry';
import { type WatchEnd, watchEnds } from '../watch-end.ts';

export type WatchMeasures = ReturnType<typeof createWatchMeasures>;
/** The metrics of one watch. */
export type OpenWatchMeasures = ReturnType<WatchMeasures['begin']>;

export interface Watched {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly scope: 'cluster' | 'namespace' | 'resource';
}

/** The watch metrics of kube-apiserver. All label values come from served kinds, never from clients. */
export function createWatchMeasures(metrics: Metrics) {
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
    begin: ({ group, version, resource, scope }: Watched) => {
      const of = { group, version, resource };
      const running = open.series({ ...of, verb: 'WATCH', subresource: '', scope, component: 'apiserver' });
      const sent = events.series(of);
      const sized = sizes.means(of);
      running(1);
      return {
        countSent: (count: number, bytes: number): void => {
          sent(count);
          sized(bytes, count);
        },
        /** The client stopped reading, and the watch was cut off. */
        countStalled: (): void => terminated.add({ group, resource }),
        /** The response is over. Undefined if the watch never began. */
        end: (why: WatchEnd | undefined): void => {
          running(-1);
          if (why) endsByReason.get(why)?.(1);
        },
      };
    },
  };
}
