import type { ServedKind } from '@cluster-apiserver/model';
import {
  callbackPlaces,
  cutOffResponses,
  type ListenerMeasures,
  type Measures,
  refusedBodies,
  refusedConnections,
} from '@cluster-apiserver/pipeline';
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

/** What the listener counts of connections, and of what they hold in memory. */
export function listenerMeasures(metrics: Metrics): ListenerMeasures {
  const callbacks = metrics.counter({
    name: 'apiserver_connection_callback_errors_total',
    help: 'Exceptions in callbacks of connections and streams, each of which cost that connection, stream or request.',
    labels: { place: callbackPlaces },
  });
  const refused = metrics.counter({
    name: 'apiserver_connections_refused_total',
    help: 'Connections refused: all are taken (limit), one address has its share (peer), no file descriptor is left (descriptors).',
    labels: { reason: refusedConnections },
  });
  const cutOff = metrics.counter({
    name: 'apiserver_responses_cut_off_total',
    help: 'Responses cut off because their clients stopped reading, or did so while memory for responses was exhausted.',
    labels: { reason: cutOffResponses },
  });
  const bodies = metrics.counter({
    name: 'apiserver_request_bodies_refused_total',
    help: 'Request bodies given up because they came too slowly, or because memory for bodies was exhausted.',
    labels: { reason: refusedBodies },
  });
  const connections = metrics.gauge({ name: 'apiserver_open_connections', help: 'Open client connections.' });
  const responseBytes = metrics.gauge({
    name: 'apiserver_response_buffered_bytes',
    help: 'Response bytes that wait in memory for their clients.',
  });
  const bodyBytes = metrics.gauge({
    name: 'apiserver_request_body_buffered_bytes',
    help: 'Bytes of request bodies in memory.',
  });
  return {
    callbackFailed: (place) => callbacks.add({ place }),
    connectionRefused: (reason) => refused.add({ reason }),
    responseCutOff: (reason) => cutOff.add({ reason }),
    bodyRefused: (reason) => bodies.add({ reason }),
    sizes: (sizes) => {
      connections.set({}, sizes.connections);
      responseBytes.set({}, sizes.responseBytes);
      bodyBytes.set({}, sizes.bodyBytes);
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
