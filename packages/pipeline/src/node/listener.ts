import { constants } from 'node:crypto';
import { type IncomingMessage, type Server as HttpServer, ServerResponse } from 'node:http';
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Clock, Random } from '@cluster-apiserver/base';
import { type ApiRequest, type ApiResponse, ClientGoneError, type Handler } from '../exchange.ts';
import { handshake, type HandshakeFault, opensWebSocket } from '../web-socket/handshake.ts';
import { Connection } from './connection.ts';
import { hangUp } from './hang-up.ts';
import { Http1Request } from './http1-request.ts';
import { Http2Request } from './http2-request.ts';
import * as limits from './limits.ts';
import { rawRefusal, refusal, type RefusalStatus } from './refusal.ts';
import { pathOf, type SocketRequest } from './socket-request.ts';
import { cipherSuites, type ServingCertificate } from './tls.ts';
import { WebSocketRequest } from './web-socket-request.ts';

export interface ListenOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly certificate: ServingCertificate;
  /** Whether clients are asked for a certificate. They may leave it, and it is for others to verify what they show. */
  readonly asksForCertificates: boolean;
  readonly clock: Clock;
  readonly random: Random;
  /** How likely a request over HTTP/2 makes its client open the next ones on another connection. */
  readonly goawayChance: number;
  /** Requests that a client may have open on one connection of HTTP/2. */
  readonly streamsMax: number;
  /** Faults of ours that no client will tell us about. */
  report(what: string, error: unknown): void;
}

export interface Listener {
  readonly port: number;
  /** For connections from now on; those that exist keep what they began with. */
  useCertificate(next: ServingCertificate): void;
  /**
   * Asks clients to go elsewhere and still serves all they send: HTTP/1.1 answers close their connection, HTTP/2
   * sessions are told that no new streams are wanted, streams are told to end. Resolves when all have left, or after
   * the grace.
   */
  drain(graceMs: number): Promise<void>;
  /** Accepts nothing more and resolves when what was accepted has been answered; what is left at the limit is cut off. */
  close(limitMs: number): Promise<void>;
}

/** One TLS port for HTTP/1.1 and HTTP/2, chosen in the handshake. */
export async function listen(options: ListenOptions, handler: Handler<ApiRequest>): Promise<Listener> {
  const { clock, random, goawayChance, report } = options;
  const connections = new Map<Socket | ServerHttp2Session, Connection>();
  const sockets = new Set<Socket>();
  const drainingControl = new AbortController();
  let wakeDrain = (): void => {};

  const surroundings = { nowMs: clock.monotonicMs(), clock, draining: drainingControl.signal, report };

  const server = createServer(options);

  function connectionOf(carrier: Socket | ServerHttp2Session): Connection {
    const known = connections.get(carrier);
    if (known) return known;
    const connection = new Connection(carrier, surroundings.nowMs);
    connections.set(carrier, connection);
    carrier.once('close', () => {
      connections.delete(carrier);
      if (connections.size === 0) wakeDrain();
    });
    return connection;
  }

  const arrived: SocketRequest[] = [];
  const ready: { readonly request: SocketRequest; readonly response: ApiResponse }[] = [];
  let working = false;

  /**
   * What arrives in one turn of the event loop is worked on together at its end, and answers that are ready leave
   * together: the same code runs again and again while the processor has it at hand, and what it leads to, such as
   * writes to the store, leaves together too. Each write to a socket may have to wake whoever reads it, which costs as
   * much as all the rest of a small answer; behind the first one he is awake.
   */
  function workSoon(): void {
    if (working) return;
    working = true;
    clock.soon(() => {
      try {
        for (const request of arrived.splice(0)) serve(request);
        for (const { request, response } of ready.splice(0)) request.answer(response);
      } finally {
        working = false;
        if (arrived.length > 0 || ready.length > 0) workSoon();
      }
    });
  }

  function accept(request: SocketRequest, refused: ApiResponse | undefined): void {
    if (refused) return request.answer(refused);
    arrived.push(request);
    workSoon();
  }

  function serve(request: SocketRequest): void {
    try {
      const response = handler(request);
      if (response instanceof Promise)
        response.then(
          (late) => answerSoon(request, late),
          (error) => failed(request, error),
        );
      else answerSoon(request, response);
    } catch (error) {
      failed(request, error);
    }
  }

  function answerSoon(request: SocketRequest, response: ApiResponse): void {
    ready.push({ request, response });
    workSoon();
  }

  /** The pipeline turns every error into an answer; what arrives here is a fault of that stage. */
  function failed(request: SocketRequest, error: unknown): void {
    if (!(error instanceof ClientGoneError)) report(`${request.method} ${pathOf(request.target)}`, error);
    request.answer(refusal(500, 'the request could not be answered'));
  }

  function serveHttp1(
    message: IncomingMessage,
    response: ServerResponse,
    heldBack: boolean,
    expectationRefused?: ApiResponse,
  ): void {
    const connection = connectionOf(message.socket);
    if (connection.ended) return;
    const request = new Http1Request(message, response, heldBack, connection, surroundings);
    connection.opened(request);
    response.on('close', () => {
      request.closed(response.writableFinished);
      connection.closed(request, surroundings.nowMs);
    });
    let refused = request.refused() ?? expectationRefused;
    if (!refused && connection.requests.size > limits.pipelinedRequestsMax)
      refused = refusal(429, 'too many requests at once on one connection');
    if (refused) request.endsConnection();
    accept(request, refused);
  }

  function serveWebSocket(message: IncomingMessage, socket: Socket, early: Buffer): void {
    const connection = connectionOf(socket);
    socket.on('error', ignoreErrorOfAnEndedStream);
    // Behind answers that are still to come nobody could tell them from the messages.
    if (connection.ended || connection.requests.size > 0) return void socket.destroy();
    // Asked before by a Node that asks.
    if (!opensWebSocket(message)) return hangUp(socket, clock, rawRefusal(400, 'only WebSockets are opened here'));
    const opened = handshake(message);
    if (typeof opened === 'string') return hangUp(socket, clock, handshakeRefusals[opened]);
    const response = new ServerResponse(message);
    response.assignSocket(socket);
    const request = new WebSocketRequest(
      { request: message, response, socket, early },
      opened,
      connection,
      surroundings,
    );
    request.endsConnection();
    connection.opened(request);
    response.on('finish', () => hangUp(socket, clock));
    socket.once('close', () => {
      request.closed(response.writableFinished);
      connection.closed(request, surroundings.nowMs);
    });
    accept(request, request.refused());
  }

  function serveHttp2(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    raw: readonly string[],
  ): void {
    const connection = connectionOf(stream.session as ServerHttp2Session);
    const request = new Http2Request(stream, headers, raw, surroundings);
    connection.opened(request);
    stream.on('error', ignoreErrorOfAnEndedStream);
    stream.on('close', () => {
      request.closed(stream.writableFinished && !stream.aborted);
      connection.closed(request, surroundings.nowMs);
    });
    if (drainingControl.signal.aborted || isChosen()) connection.askToLeave();
    accept(request, request.refused());
  }

  /** Connections live long, and a replica that has just come gets none of them otherwise. */
  const isChosen = (): boolean => goawayChance > 0 && random.below(chances) < goawayChance * chances;

  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  };
  server.on('connection', track);
  server.on('secureConnection', (socket) => {
    // Once a session of HTTP/2 has held the raw socket, only the end of this one ends the connection.
    track(socket);
    if (socket.alpnProtocol === 'h2') {
      socket.once('end', () => socket.destroy());
      // A session that broke off while it was closing ends our side and reads no more: the client's end goes unseen.
      socket.once('finish', () => clock.after(limits.lingerMs, () => socket.destroy()));
      return;
    }
    const connection = connectionOf(socket);
    socket.once('end', () => connection.clientLeft());
  });
  server.on('session', connectionOf);
  server.on('request', (message, response) => serveHttp1(message as never, response as never, false));
  server.on('checkContinue', (message, response) => serveHttp1(message as never, response as never, true));
  // HTTP/1.1 alone has this event, and Node's types for the common server do not know it.
  (server as unknown as HttpServer).on('checkExpectation', (message, response) =>
    serveHttp1(message, response, false, refusal(417, 'only 100-continue may be expected')),
  );
  (server as unknown as HttpServer).on('upgrade', (message, socket, early) =>
    serveWebSocket(message, socket as Socket, early),
  );
  (server as unknown as HttpServer).on('connect', (_message, socket) =>
    socket.end(rawRefusal(405, 'this server is no proxy')),
  );
  (server as unknown as HttpServer).on('clientError', (error, socket) => {
    const connection = connections.get(socket as Socket);
    // Whoever fails at the handshake has no connection yet, and its socket may have closed before we hear of it.
    if (connection) refuseBrokenMessage(error, socket as Socket, connection, clock);
    else socket.destroy();
  });
  // Listening for 'request' has made Node put its compatibility layer on every stream; the streams are served bare.
  server.removeAllListeners('stream');
  server.on('stream', serveHttp2 as never);

  const sweep = (): void => {
    surroundings.nowMs = clock.monotonicMs();
    for (const connection of connections.values()) connection.sweep(surroundings.nowMs, drainingControl.signal.aborted);
    cancelSweep = clock.after(limits.sweepMs, sweep);
  };
  let cancelSweep = clock.after(limits.sweepMs, sweep);

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', (error) => report('the listening socket', error));

  return {
    port: (server.address() as AddressInfo).port,
    useCertificate: (next) => server.setSecureContext(secureContext(next, options.asksForCertificates)),
    drain: (graceMs) => {
      for (const connection of connections.values()) connection.askToLeave();
      drainingControl.abort();
      if (connections.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const cancel = clock.after(graceMs, resolve);
        wakeDrain = () => {
          cancel();
          resolve();
        };
      });
    },
    close: (limitMs) => {
      drainingControl.abort();
      return new Promise((resolve) => {
        const cancel = clock.after(limitMs, () => {
          for (const socket of sockets) socket.destroy();
        });
        server.close(() => {
          cancel();
          cancelSweep();
          resolve();
        });
      });
    },
  };
}

function createServer({ certificate, asksForCertificates, streamsMax }: ListenOptions): Http2SecureServer {
  const server = createSecureServer({
    ...secureContext(certificate, asksForCertificates),
    requestCert: asksForCertificates,
    rejectUnauthorized: false,
    allowHTTP1: true,
    handshakeTimeout: limits.headTimeoutMs,
    maxHeaderSize: limits.headBytesMax,
    headersTimeout: limits.headTimeoutMs,
    connectionsCheckingInterval: limits.sweepMs,
    // Bodies and idle connections are watched by the sweep, which knows what each of them waits for.
    requestTimeout: 0,
    keepAliveTimeout: 0,
    // Refused by us with a Status instead.
    requireHostHeader: false,
    noDelay: true,
    allowHalfOpen: true,
    maxHeaderListPairs: limits.headerLinesMax + pseudoHeaders,
    maxSessionMemory: limits.sessionMegabytesMax,
    maxSessionInvalidFrames: 100,
    streamResetBurst: limits.streamResets.burst,
    streamResetRate: limits.streamResets.perSecond,
    settings: { maxConcurrentStreams: streamsMax, maxHeaderListSize: limits.headBytesMax, enablePush: false },
  } as Parameters<typeof createSecureServer>[0]);
  server.maxConnections = limits.connectionsMax;
  // The common server takes this option of the HTTP/1.1 server only as its property.
  (server as unknown as { shouldUpgradeCallback: typeof opensWebSocket }).shouldUpgradeCallback = opensWebSocket;
  // A client that has shut its side may still wait for the answer to what it sent.
  (server as unknown as { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
  // Node would drop headers above its own number without a word, and a dropped header can be the one that forbids.
  (server as unknown as HttpServer).maxHeadersCount = 0;
  return server;
}

const handshakeRefusals: Readonly<Record<HandshakeFault, Buffer>> = {
  version: rawRefusal(400, 'only version 13 of WebSocket is spoken here', { 'Sec-WebSocket-Version': '13' }),
  key: rawRefusal(400, 'Sec-WebSocket-Key must be 16 bytes in base64'),
  protocol: rawRefusal(400, 'Sec-WebSocket-Protocol must be a list of names'),
  token: rawRefusal(401, 'Unauthorized'),
};

/** Fine enough for chances of one in a million. */
const chances = 2 ** 31;

/** `:method`, `:path`, `:scheme` and `:authority`. */
const pseudoHeaders = 4;

function secureContext({ cert, key }: ServingCertificate, asksForCertificates: boolean): object {
  const suites = { cert, key, minVersion: 'TLSv1.2', ciphers: cipherSuites, honorCipherOrder: true };
  return asksForCertificates ? { ...suites, ...keepsCertificates } : suites;
}

/**
 * OpenSSL verifies nothing: authorities change while connections last, and after a verification that went well Node
 * no longer knows what else the client has shown. A resumed session knows as little, and with a new handshake inside of
 * a connection the certificate would be another one.
 */
const keepsCertificates = {
  ca: [],
  secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
};

/** Whoever reads or writes the stream learns its end by itself; Node only wants somebody to listen. */
function ignoreErrorOfAnEndedStream(): void {}

/** Bytes that are no request. Requests that came whole before them on the connection are answered first. */
function refuseBrokenMessage(error: NodeJS.ErrnoException, socket: Socket, connection: Connection, clock: Clock): void {
  if (connection.broken) return; // the parser complains again of all that follows, which is thrown away
  connection.broken = true;
  connection.ended = true;
  const refused = brokenMessage(error.code);
  // A connection on which nothing was ever said gets no answer: clients open some in advance and would misread it.
  if (!refused || !socket.writable || socket.bytesRead === 0) return void socket.destroy();
  connection.whenAnswered(() => {
    const requests = [...connection.requests] as Http1Request[];
    if (socket.writableEnded || requests.some((request) => request.complete)) return;
    if (requests.some((request) => request.headSent)) return socket.destroySoon();
    hangUp(socket, clock, rawRefusal(...refused));
  });
}

function brokenMessage(code: string | undefined): [RefusalStatus, string] | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') return [431, `request line and headers exceed ${limits.headBytesMax} bytes`];
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return [408, 'the request did not arrive in time'];
  if (code?.startsWith('HPE_')) return [400, 'malformed HTTP request'];
  return undefined;
}
