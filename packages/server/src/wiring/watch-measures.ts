import type { ServedKind } from '@cluster-apiserver/model';
import type { WatchMeasures } from '@cluster-apiserver/pipeline';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** Upstream's labels and names; `scope` and the rest are ours to choose, never a client's. */
export function watchMeasures(metrics: Metrics, kinds: readonly ServedKind[]): WatchMeasures {
  const served = (name: (kind: ServedKind) => string): string[] => [...new Set(kinds.map(name))];
  const [group, resource] = [served((kind) => kind.group), served(({ plural }) => plural)];
  const open = metrics.gauge({
    name: 'apiserver_longrunning_requests',
    help: 'Active long-running requests.',
    labels: {
      verb: ['WATCH'],
      group,
      version: served(({ version }) => version),
      resource,
      subresource: [''],
      scope: ['cluster', 'namespace', 'resource'],
      component: ['apiserver'],
    },
  });
  const terminated = metrics.counter({
    name: 'apiserver_terminated_watchers_total',
    help: 'Watches ended because their clients stopped reading.',
    labels: { group, resource },
  });
  const all = { verb: 'WATCH', subresource: '', component: 'apiserver' };
  return {
    began: (watched) => open.add({ ...all, ...watched }, 1),
    ended: (watched) => open.add({ ...all, ...watched }, -1),
    stalled: ({ group, resource }) => terminated.add({ group, resource }),
  };
}
