import type { Http2SecureServer, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { ListenerContext } from '../listener-context.ts';
import type { AcceptRequest } from '../http1/serve-http1.ts';
import { Http2Request } from './http2-request.ts';
import type { OpenConnections } from '../connection/open-connections.ts';

/**
 * Serves HTTP/2 streams. `drawGoaway` decides whether a request triggers GOAWAY.
 *
 * Two limitations of Node: It drops headers whose value contains a control character before any JavaScript callback
 * (`OnInvalidHeader` in its C++), so such a request looks like one without the header; see
 * docs/decisions/0005-http-listener.md. And it handles a body beyond its content-length like a broken frame, so the
 * session ends with GOAWAY where RFC 9113 requires only a stream error.
 */
export function serveHttp2(
  server: Http2SecureServer,
  connections: OpenConnections,
  context: ListenerContext,
  accept: AcceptRequest,
  drawGoaway: () => boolean,
): void {
  // Listening for 'request' has installed Node's compatibility layer for all streams; they are served without it.
  server.removeAllListeners('stream');
  const onStream = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    raw: readonly string[],
  ): void => {
    // First of all: an 'error' event without a listener ends the process.
    stream.on('error', ignoreStreamError);
    // Reset meanwhile, as by clients that reset each stream at once.
    if (stream.closed) return;
    const connection = connections.findBySession(stream.session);
    // Node emits the event later, when the session may have ended.
    if (!connection) return void stream.destroy();
    const request = new Http2Request(stream, headers, raw, connection, context);
    connection.addRequest(request);
    stream.on('close', () => connection.removeRequest(request));
    if (context.draining.aborted || drawGoaway()) connection.sendGoaway();
    request.refusal = request.findRefusal();
    accept(request);
  };
  server.on(
    'stream',
    context.guard.wrap('request', onStream, (stream) => stream.destroy()),
  );
}

/** Readers and writers of the stream handle errors; Node only requires a listener. */
function ignoreStreamError(): void {}
