import {
  callbackPlaces,
  cutOffResponses,
  type ListenerMeasures,
  refusedBodies,
  refusedConnections,
} from '@cluster-apiserver/pipeline';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** Metrics of client connections and of their buffers. */
export function createListenerMeasures(metrics: Metrics): ListenerMeasures & {
  /** The bytes of a connection were no request for the handler chain. */
  countRefusedRequest(code: number): void;
} {
  const callbacks = metrics.counter({
    name: 'apiserver_connection_callback_errors_total',
    help: 'Number of exceptions in callbacks of connections and streams. Each ended that connection, stream or request.',
    labels: { place: callbackPlaces },
  });
  const refused = metrics.counter({
    name: 'apiserver_connections_refused_total',
    help: 'Number of refused connections, by the exhausted limit: all connections (limit), connections per address (peer) or file descriptors (descriptors).',
    labels: { reason: refusedConnections },
  });
  const unparsed = metrics.counter({
    name: 'apiserver_unparsed_requests_total',
    help: 'Number of HTTP/1.1 connections closed because their bytes were no request: malformed (400), CONNECT (405), headers not complete in time (408) or too large (431). Not part of apiserver_request_total.',
    labels: { code: ['400', '405', '408', '431'] },
  });
  const handshakes = metrics.counter({
    name: 'apiserver_tls_handshake_errors_total',
    help: 'TLS handshakes of clients that failed.',
  });
  const cutOff = metrics.counter({
    name: 'apiserver_responses_cut_off_total',
    help: 'Number of responses cut off because their clients stopped reading (stalled), or while memory for responses was exhausted (memory).',
    labels: { reason: cutOffResponses },
  });
  const bodies = metrics.counter({
    name: 'apiserver_request_bodies_refused_total',
    help: 'Number of request bodies refused because they arrived too slowly, or because memory for bodies was exhausted.',
    labels: { reason: refusedBodies },
  });
  const connections = metrics.gauge({ name: 'apiserver_open_connections', help: 'Open client connections.' });
  const responseBytes = metrics.gauge({
    name: 'apiserver_response_buffered_bytes',
    help: 'Response bytes buffered in memory.',
  });
  const bodyBytes = metrics.gauge({
    name: 'apiserver_request_body_buffered_bytes',
    help: 'Bytes of request bodies in memory.',
  });
  return {
    countFailedCallback: (place) => callbacks.add({ place }),
    countRefusedConnection: (reason) => refused.add({ reason }),
    countRefusedRequest: (code) => unparsed.add({ code: String(code) }),
    countFailedHandshake: () => handshakes.add({}),
    countCutOffResponse: (reason) => cutOff.add({ reason }),
    countRefusedBody: (reason) => bodies.add({ reason }),
    setSizes: (sizes) => {
      connections.set({}, sizes.connections);
      responseBytes.set({}, sizes.responseBytes);
      bodyBytes.set({}, sizes.bodyBytes);
    },
  };
}
