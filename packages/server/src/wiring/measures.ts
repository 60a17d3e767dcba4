import type { Clock, Scope } from '@cluster-apiserver/base';
import type { ServedKind } from '@cluster-apiserver/model';
import type { InFlightMeasures, Measures } from '@cluster-apiserver/pipeline';
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
function routeLabels(kinds: readonly ServedKind[]) {
  const served = (name: (kind: ServedKind) => string): string[] => ['', ...new Set(kinds.map(name))];
  return {
    group: served(({ group }) => group),
    version: served(({ version }) => version),
    resource: served(({ plural }) => plural),
  };
}

export function requestMeasures(metrics: Metrics, kinds: readonly ServedKind[]): Measures {
  const ofRoutes = routeLabels(kinds);
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
  return {
    ended: ({ verb, group, version, resource, code, seconds }) => {
      const what = { verb: verb.toUpperCase(), group, version, resource };
      total.add({ ...what, code: String(code) });
      duration.observe(what, seconds);
    },
  };
}

/** As upstream: the gauge is the most of the last second, because a scrape would miss what lasts for milliseconds. */
const peakPeriodMs = 1000;

/** Requests in flight, and those that were rejected because there were too many. */
export function inFlightMeasures(
  metrics: Metrics,
  kinds: readonly ServedKind[],
  clock: Clock,
  scope: Scope,
): InFlightMeasures {
  const gauge = metrics.gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Maximal number of requests in flight in the last second, by request kind.',
    labels: { request_kind: ['readOnly', 'mutating'] },
  });
  const dropped = metrics.counter({
    name: 'apiserver_dropped_requests_total',
    help: 'Requests rejected with 429 because too many were in flight.',
    labels: { request_kind: ['readOnly', 'mutating'] },
  });
  const terminations = metrics.counter({
    name: 'apiserver_request_terminations_total',
    help: 'Requests that the server ended in self-defense.',
    labels: { verb: verbs, ...routeLabels(kinds), code: ['429'] },
  });
  const now = { readOnly: 0, mutating: 0 };
  const peak = { readOnly: 0, mutating: 0 };
  const publish = (): void => {
    for (const kind of ['readOnly', 'mutating'] as const) {
      gauge.set({ request_kind: kind }, peak[kind]);
      peak[kind] = now[kind];
    }
    cancel = clock.after(peakPeriodMs, publish);
  };
  let cancel = (): void => {};
  publish();
  scope.onClose('gauge of requests in flight', () => cancel());
  return {
    used: (kind, seats) => {
      now[kind] = seats;
      if (seats > peak[kind]) peak[kind] = seats;
    },
    rejected: (kind, { verb, resource }) => {
      const { group, version, plural } = resource ?? { group: '', version: '', plural: '' };
      dropped.add({ request_kind: kind });
      terminations.add({ verb: verb.toUpperCase(), group, version, resource: plural, code: '429' });
    },
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
