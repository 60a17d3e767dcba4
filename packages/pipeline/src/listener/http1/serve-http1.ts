import { type IncomingMessage, type Server as HttpServer, ServerResponse } from 'node:http';
import type { Http2SecureServer } from 'node:http2';
import type { Socket } from 'node:net';
import type { ApiResponse } from '../../exchange.ts';
import { handshake, type HandshakeFault, opensWebSocket } from '../web-socket/handshake.ts';
import type { Connection } from '../connection/connection.ts';
import type { ListenerContext } from '../listener-context.ts';
import { hangUp } from '../connection/lingering-close.ts';
import { Http1Request } from './http1-request.ts';
import * as limits from '../limits.ts';
import type { OpenConnections } from '../connection/open-connections.ts';
import { rawRefusal, refusal, type RefusalStatus } from '../request/refusal.ts';
import type { SocketRequest } from '../request/socket-request.ts';
import { WebSocketRequest } from '../web-socket/web-socket-request.ts';

/** Hands a request to the pipeline, or answers it with the refusal. */
export type AcceptRequest = (request: SocketRequest, refused: ApiResponse | undefined) => void;

/** Serves HTTP/1.1 and what it may be upgraded to. */
export function serveHttp1(
  server: Http2SecureServer,
  connections: OpenConnections,
  context: ListenerContext,
  accept: AcceptRequest,
): void {
  const { guard } = context;
  // These events have HTTP/1.1 alone, or its types; Node's types for the common server do not know them.
  const events = server as unknown as HttpServer;
  const onRequest =
    (heldBack: boolean, refused?: ApiResponse) =>
    (message: IncomingMessage, response: ServerResponse): void => {
      const connection = connections.ofSocket(message.socket);
      if (!connection) return void message.socket.destroy();
      serveRequest({ message, response, heldBack, refused }, connection, context, accept);
    };
  const closeOfRequest = (message: IncomingMessage): void => void message.socket.destroy();
  const closeOfSocket = (_: unknown, socket: unknown): void => void (socket as Socket).destroy();
  events.on('request', guard.callback('request', onRequest(false), closeOfRequest));
  events.on('checkContinue', guard.callback('request', onRequest(true), closeOfRequest));
  const miracle = refusal(417, 'only 100-continue may be expected');
  events.on('checkExpectation', guard.callback('request', onRequest(false, miracle), closeOfRequest));
  const upgrade = (message: IncomingMessage, socket: unknown, early: Buffer): void =>
    serveUpgrade(message, socket as Socket, early, connections, context, accept);
  events.on('upgrade', guard.callback('request', upgrade, closeOfSocket));
  const connect = (_: IncomingMessage, socket: unknown): void =>
    refuseTunnel(socket as Socket, connections.ofSocket(socket as Socket), context);
  events.on('connect', guard.callback('request', connect, closeOfSocket));
  const malformed = (error: Error, socket: unknown): void => {
    const connection = connections.ofSocket(socket as Socket);
    // Whoever fails at the handshake has no connection yet, and its socket may have closed before we hear of it.
    if (connection) refuseBrokenMessage(error, socket as Socket, connection, context);
    else (socket as Socket).destroy();
  };
  events.on('clientError', guard.callback('request', malformed, closeOfSocket));
  events.on('tlsClientError', () => context.measures.handshakeFailed());
}

interface Incoming {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  /** The client waits for our word before it sends the body. */
  readonly heldBack: boolean;
  readonly refused: ApiResponse | undefined;
}

function serveRequest(
  { message, response, heldBack, refused }: Incoming,
  connection: Connection,
  context: ListenerContext,
  accept: AcceptRequest,
): void {
  if (connection.ended) return;
  const request = new Http1Request(message, response, heldBack, connection, context);
  connection.opened(request);
  response.on('close', () => connection.closed(request));
  let refusing = request.refused() ?? refused;
  if (!refusing && connection.requests.size > limits.pipelinedRequestsMax)
    refusing = refusal(429, 'too many requests at once on one connection');
  if (!refusing) return connection.serveInTurn(() => accept(request, undefined));
  request.endsConnection();
  accept(request, refusing);
}

function serveUpgrade(
  message: IncomingMessage,
  socket: Socket,
  early: Buffer,
  connections: OpenConnections,
  context: ListenerContext,
  accept: AcceptRequest,
): void {
  socket.on('error', ignoreErrorOfAnEndedSocket);
  const connection = connections.ofSocket(socket);
  // Behind answers that are still to come nobody could tell them from the messages.
  if (!connection || connection.ended || connection.requests.size > 0) return void socket.destroy();
  // Asked before by a Node that asks.
  if (!opensWebSocket(message)) return hangUp(socket, context, rawRefusal(400, 'only WebSockets are opened here'));
  const opened = handshake(message);
  if (typeof opened === 'string') return hangUp(socket, context, handshakeRefusals[opened]);
  const response = new ServerResponse(message);
  response.assignSocket(socket);
  const request = new WebSocketRequest({ request: message, response, socket, early }, opened, connection, context);
  request.endsConnection();
  connection.opened(request);
  const { guard } = context;
  const destroy = (): void => void socket.destroy();
  response.on(
    'finish',
    guard.callback('websocket', () => hangUp(socket, context), destroy),
  );
  socket.once('close', () => connection.closed(request));
  accept(request, request.refused());
}

const handshakeRefusals: Readonly<Record<HandshakeFault, Buffer>> = {
  version: rawRefusal(400, 'only version 13 of WebSocket is spoken here', { 'Sec-WebSocket-Version': '13' }),
  key: rawRefusal(400, 'Sec-WebSocket-Key must be 16 bytes in base64'),
  protocol: rawRefusal(400, 'Sec-WebSocket-Protocol must be a list of names'),
  token: rawRefusal(401, 'Unauthorized'),
};

/** Node leaves the socket to us after CONNECT. Answers to requests before it leave first, or the client would mix them up. */
function refuseTunnel(socket: Socket, connection: Connection | undefined, context: ListenerContext): void {
  socket.on('error', ignoreErrorOfAnEndedSocket);
  if (!connection || connection.ended) return void socket.destroy();
  connection.ended = true;
  connection.whenAnswered(() => {
    if (connection.requests.size > 0 || socket.writableEnded) return;
    hangUp(socket, context, rawRefusal(405, 'this server is no proxy'));
  });
}

/** Bytes that are no request. Requests that came whole before them on the connection are answered first. */
function refuseBrokenMessage(
  error: NodeJS.ErrnoException,
  socket: Socket,
  connection: Connection,
  context: ListenerContext,
): void {
  if (connection.broken) return; // the parser complains again of all that follows, which is thrown away
  connection.broken = true;
  connection.ended = true;
  const refused = brokenMessage(error.code);
  // A connection on which nothing was ever said gets no answer: clients open some in advance and would misread it.
  if (!refused || !socket.writable || socket.bytesRead === 0) return void socket.destroy();
  connection.whenAnswered(() => {
    const requests = [...connection.requests] as Http1Request[]; // HTTP/2 has no such event
    if (socket.writableEnded || requests.some((request) => request.complete)) return;
    if (requests.some((request) => request.headSent)) return socket.destroySoon();
    hangUp(socket, context, rawRefusal(...refused));
  });
}

function brokenMessage(code: string | undefined): [RefusalStatus, string] | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') return [431, `request line and headers exceed ${limits.headBytesMax} bytes`];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'the request did not arrive in time'];
  if (code?.startsWith('HPE_')) return [400, 'malformed HTTP request'];
  return undefined;
}

/** Whoever reads or writes the socket learns its end by itself; Node only wants somebody to listen. */
function ignoreErrorOfAnEndedSocket(): void {}
