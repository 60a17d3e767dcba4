import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { StatusError } from '@cluster-apiserver/model';
import { performHandshake, type HandshakeError, isWebSocketUpgrade } from '../web-socket/handshake.ts';
import type { Connection } from '../connection/connection.ts';
import type { ListenerContext } from '../listener-context.ts';
import { closeLingering } from '../connection/lingering-close.ts';
import { Http1Request } from './http1-request.ts';
import * as limits from '../limits.ts';
import type { OpenConnections } from '../connection/open-connections.ts';
import { createRefusal, rawRefusalResponse } from '../request/refusal.ts';
import type { SocketRequest } from '../request/socket-request.ts';
import { WebSocketConnection } from '../web-socket/web-socket-connection.ts';

/** Passes a request to the handler chain. */
export type AcceptRequest = (request: SocketRequest) => void;

/** Serves HTTP/1.1 and WebSockets. */
export function serveHttp1(
  server: Http2SecureServer,
  connections: OpenConnections,
  context: ListenerContext,
  accept: AcceptRequest,
): void {
  const { guard } = context;
  const onRequest =
    (awaitsContinue: boolean, isExpectationKnown = true) =>
    (message: IncomingMessage, response: ServerResponse): void => {
      const connection = connections.findBySocket(message.socket);
      if (!connection) return void message.socket.destroy();
      if (connection.isEnded) return;
      const request = new Http1Request(message, response, awaitsContinue, connection, context);
      serveRequest(request, response, isExpectationKnown, accept);
    };
  const closeOfRequest = (message: IncomingMessage): void => void message.socket.destroy();
  const closeOfSocket = (_: unknown, socket: Duplex): void => void socket.destroy();
  server.on('request', guard.wrap('request', onRequest(false), closeOfRequest));
  server.on('checkContinue', guard.wrap('request', onRequest(true), closeOfRequest));
  server.on('checkExpectation', guard.wrap('request', onRequest(false, false), closeOfRequest));
  const upgrade = (message: IncomingMessage, socket: Socket, early: Buffer): void =>
    serveUpgrade(message, socket, early, connections, context, accept);
  server.on('upgrade', guard.wrap('request', upgrade, closeOfSocket));
  const connect = (_: IncomingMessage, socket: Socket): void =>
    refuseConnect(socket, connections.findBySocket(socket), context);
  server.on('connect', guard.wrap('request', connect, closeOfSocket));
  const malformed = (error: Error, socket: Socket): void => {
    const connection = connections.findBySocket(socket);
    // A client that fails in the handshake has no connection yet, or its socket has already closed.
    if (connection) refuseMalformedMessage(error, socket, connection, context);
    else socket.destroy();
  };
  server.on('clientError', guard.wrap('request', malformed, closeOfSocket));
  server.on('tlsClientError', () => context.measures.countFailedHandshake());
}

function serveRequest(
  request: Http1Request,
  response: ServerResponse,
  isExpectationKnown: boolean,
  accept: AcceptRequest,
): void {
  const { connection } = request;
  connection.addRequest(request);
  response.on('close', () => connection.removeRequest(request));
  request.refusal = request.findRefusal();
  if (!request.refusal && !isExpectationKnown)
    request.refusal = createRefusal(417, 'unsupported expectation: only 100-continue is supported');
  if (!request.refusal && connection.requests.size > limits.pipelinedRequestsMax)
    request.refusal = createRefusal(429, 'too many pipelined requests on one connection');
  if (!request.refusal) return connection.serveInTurn(request, accept);
  request.endsConnection();
  accept(request);
}

function serveUpgrade(
  message: IncomingMessage,
  socket: Socket,
  early: Buffer,
  connections: OpenConnections,
  context: ListenerContext,
  accept: AcceptRequest,
): void {
  socket.on('error', ignoreSocketError);
  const connection = connections.findBySocket(socket);
  // The client could not tell pending responses from messages.
  if (!connection || connection.isEnded || connection.requests.size > 0) return void socket.destroy();
  // Node checks this with shouldUpgradeCallback, if it supports that option.
  const handshake = isWebSocketUpgrade(message) ? performHandshake(message) : 'upgrade';
  const response = new ServerResponse(message);
  response.assignSocket(socket);
  const isFailed = typeof handshake === 'string';
  const webSocket = isFailed ? undefined : new WebSocketConnection({ response, socket, early }, handshake, context);
  const request = new Http1Request(message, response, false, connection, context, webSocket);
  request.refusal = isFailed ? refusalOfHandshake(handshake) : request.findRefusal();
  if (handshake === 'version') response.setHeader('Sec-WebSocket-Version', '13');
  request.endsConnection();
  connection.addRequest(request);
  const { guard } = context;
  const destroy = (): void => void socket.destroy();
  response.on(
    'finish',
    guard.wrap('websocket', () => closeLingering(socket, context), destroy),
  );
  socket.once('close', () => connection.removeRequest(request));
  accept(request);
}

function refusalOfHandshake(error: HandshakeError | 'upgrade'): StatusError {
  if (error === 'token') return createRefusal(401, 'Unauthorized');
  return createRefusal(400, handshakeErrors[error]);
}

const handshakeErrors: Readonly<Record<Exclude<HandshakeError, 'token'> | 'upgrade', string>> = {
  version: 'only version 13 of the WebSocket protocol is supported',
  key: 'Sec-WebSocket-Key must be 16 bytes in base64',
  protocol: 'Sec-WebSocket-Protocol must be a list of names',
  upgrade: 'only upgrades to WebSocket are supported',
};

/**
 * After CONNECT Node hands over the socket. Pending responses are sent first, since the client matches responses by
 * order.
 */
function refuseConnect(socket: Socket, connection: Connection | undefined, context: ListenerContext): void {
  socket.on('error', ignoreSocketError);
  if (!connection || connection.isEnded) return void socket.destroy();
  connection.isEnded = true;
  connection.afterEachResponse(() => {
    if (connection.requests.size > 0 || socket.writableEnded) return;
    refuseConnection(createRefusal(405, 'the CONNECT method is not supported'), socket, connection, context);
  });
}

/** An error of Node's parser. */
interface ParseError extends NodeJS.ErrnoException {
  /** The piece of the socket that it occurred in. */
  readonly rawPacket?: Buffer;
  /** Where in the piece. */
  readonly bytesParsed?: number;
}

/** Whether the line of the piece at this place is that of a request, with any method. */
function isRequestLine(piece: Buffer, at: number): boolean {
  const before = piece.subarray(0, at);
  const line = piece.subarray(before.lastIndexOf('\n') + 1, before.lastIndexOf('\n') + 1 + limits.headBytesMax);
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ [^ \r\n]+ HTTP\/1\.[01]\r\n/.test(line.toString('latin1'));
}

/** Refuses malformed bytes. Complete requests before them are answered first. */
function refuseMalformedMessage(
  error: ParseError,
  socket: Socket,
  connection: Connection,
  context: ListenerContext,
): void {
  if (connection.hasParseError) return; // the parser reports all following bytes too
  connection.hasParseError = true;
  connection.isEnded = true;
  const refusal = refusalOfParseError(error);
  // A connection without any bytes gets no response: clients open some in advance and would misread it.
  if (!refusal || !socket.writable || socket.bytesRead === 0) return void socket.destroy();
  connection.afterEachResponse(() => {
    const requests = [...connection.requests].filter((request) => request instanceof Http1Request);
    if (socket.writableEnded || requests.some((request) => request.isComplete)) return;
    if (requests.some((request) => request.isHeadSent)) return socket.destroySoon();
    refuseConnection(refusal, socket, connection, context);
  });
}

/** Node knows no other methods than those of its parser, and reports others as malformed. */
function refusalOfParseError({ code, rawPacket, bytesParsed = 0 }: ParseError): StatusError | undefined {
  if (code === 'HPE_INVALID_METHOD' && rawPacket && isRequestLine(rawPacket, bytesParsed))
    return createRefusal(405, 'the server does not allow this method on the requested resource');
  if (code === 'HPE_HEADER_OVERFLOW')
    return createRefusal(431, `request line and headers exceed ${limits.headBytesMax} bytes`);
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return createRefusal(408, 'the request did not arrive in time');
  if (code?.startsWith('HPE_')) return createRefusal(400, 'malformed HTTP request');
  return undefined;
}

/** Refuses what is no request for the handler chain, and closes the connection. */
function refuseConnection(
  refusal: StatusError,
  socket: Socket,
  connection: Connection,
  context: ListenerContext,
): void {
  closeLingering(socket, context, rawRefusalResponse(refusal));
  context.reportRefusal(refusal, connection.remoteAddress);
}

/** Readers and writers of the socket handle errors; Node only requires a listener. */
function ignoreSocketError(): void {}
