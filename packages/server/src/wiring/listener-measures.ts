import {
  callbackPlaces,
  cutOffResponses,
  type ListenerMeasures,
  refusedBodies,
  refusedConnections,
} from '@cluster-apiserver/pipeline';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** Metrics of client connections and of their buffers. */
export function createListenerMeasures(metrics: Metrics): ListenerMeasures {
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
  const handshakes = metrics.counter({
    name: 'apiserver_tls_handshake_errors_total',
    help: 'TLS handshakes of clients that failed.',
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
    handshakeFailed: () => handshakes.add({}),
    responseCutOff: (reason) => cutOff.add({ reason }),
    bodyRefused: (reason) => bodies.add({ reason }),
    sizes: (sizes) => {
      connections.set({}, sizes.connections);
      responseBytes.set({}, sizes.responseBytes);
      bodyBytes.set({}, sizes.bodyBytes);
    },
  };
}
