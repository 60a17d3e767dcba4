import type { ServedKind } from '@cluster-apiserver/model';
import type { Measures, WatchMeasures } from '@cluster-apiserver/pipeline';
import { type Metrics, secondsBuckets } from '@cluster-apiserver/telemetry';

/** A client may send any method; these are the verbs that we know. */
const verbs = [
  'GET',
  'LIST',
  'WATCH',
  'CREATE',
  'UPDATE',
  'PATCH',
  'DELETE',
  'DELETECOLLECTION',
  'POST',
  'PUT',
  'HEAD',
  'OPTIONS',
];

/** Paths name what they like, with or without a right to it: only what is served becomes a label. */
export function requestMeasures(metrics: Metrics, kinds: readonly ServedKind[]): Measures {
  const served = (name: (kind: ServedKind) => string): string[] => ['', ...new Set(kinds.map(name))];
  const ofRoutes = {
    group: served(({ group }) => group),
    version: served(({ version }) => version),
    resource: served(({ plural }) => plural),
  };
  const total = metrics.counter({
    name: 'apiserver_request_total',
    help: 'Requests by verb, resource and HTTP code.',
    labels: { verb: verbs, ...ofRoutes, code: 'any' },
  });
  const duration = metrics.histogram({
    name: 'apiserver_request_duration_seconds',
    help: 'Time until the answer is ready.',
    labels: { verb: verbs, ...ofRoutes },
    buckets: secondsBuckets,
  });
  const inflight = metrics.gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Requests that have no answer yet.',
  });
  return {
    began: () => inflight.add({}, 1),
    ended: ({ verb, group, version, resource, code, seconds }) => {
      inflight.add({}, -1);
      const what = { verb: verb.toUpperCase(), group, version, resource };
      total.add({ ...what, code: String(code) });
      duration.observe(what, seconds);
    },
  };
}

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

/** What authentication remembers of tokens that it has verified. */
export function tokenCacheMeasure(metrics: Metrics): (status: 'hit' | 'miss') => void {
  const total = metrics.counter({
    name: 'authentication_token_cache_request_total',
    help: 'Signed tokens that were remembered, or had to be looked at.',
    labels: { status: ['hit', 'miss'] },
  });
  return (status) => total.add({ status });
}
