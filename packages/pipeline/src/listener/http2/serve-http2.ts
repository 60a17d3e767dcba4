import type { Http2SecureServer, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import type { ListenerContext } from '../listener-context.ts';
import type { AcceptRequest } from '../http1/serve-http1.ts';
import { Http2Request } from './http2-request.ts';
import type { OpenConnections } from '../connection/open-connections.ts';

/**
 * Serves HTTP/2 by its streams. `isChosen` tells of a request that its client shall open the next ones on another
 * connection.
 *
 * Two things Node keeps from us. A header whose value holds a control character is dropped before any callback of
 * JavaScript (`OnInvalidHeader` in its C++ takes it as read), so nothing here can tell such a request from one without
 * the header; see docs/decisions/0005-http-listener.md. And a body beyond its content-length is reported to Node in the
 * same way as a broken frame, so that the session ends with GOAWAY where RFC 9113 asks for the end of the stream only.
 */
export function serveHttp2(
  server: Http2SecureServer,
  connections: OpenConnections,
  context: ListenerContext,
  accept: AcceptRequest,
  drawGoaway: () => boolean,
): void {
  // Listening for 'request' has made Node put its compatibility layer on every stream; the streams are served bare.
  server.removeAllListeners('stream');
  const onStream = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    raw: readonly string[],
  ): void => {
    // First of all: an error of a stream on which nobody listens ends the process.
    stream.on('error', ignoreStreamError);
    const connection = connections.findBySession(stream.session as ServerHttp2Session | undefined);
    // Node tells of a stream a moment after it came, and its session may have ended in between.
    if (!connection) return void stream.destroy();
    const request = new Http2Request(stream, headers, raw, connection, context);
    connection.addRequest(request);
    stream.on('close', () => connection.removeRequest(request));
    if (context.draining.aborted || drawGoaway()) connection.sendGoaway();
    accept(request, request.findRefusal());
  };
  server.on('stream', context.guard.wrap('request', onStream, (stream) => stream.destroy()) as never);
}

/** Whoever reads or writes the stream learns its end by itself; Node only wants somebody to listen. */
function ignoreStreamError(): void {}
