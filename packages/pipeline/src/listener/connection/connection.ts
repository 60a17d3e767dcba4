import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { MemoryBudget } from './memory-budget.ts';
import { readClientCertificates } from './client-certificates.ts';
import type { ListenerContext } from '../listener-context.ts';
import * as limits from '../limits.ts';
import type { SocketRequest } from '../request/socket-request.ts';

/**
 * A client's connection with the requests it has open: HTTP/1.1 on its TLS socket, or a session of HTTP/2. Who is at
 * its other end is read when it begins: Node forgets it with the socket, and requests may be served after that.
 */
export class Connection {
  readonly socket: TLSSocket;
  readonly remoteAddress: string;
  readonly clientCertificates: readonly Buffer[];
  readonly requests = new Set<SocketRequest>();
  readonly responseBytes: MemoryBudget;
  readonly bodyBytes: MemoryBudget;
  /** Of responses, what has left for the client. */
  sentResponseBytes = 0;
  /** Set with the answer after which HTTP/1.1 closes. Whatever comes behind would run without anybody to answer. */
  isEnded = false;
  /** Bytes came that are no request. */
  hasParseError = false;
  readonly #accepted: Socket | undefined;
  readonly #context: ListenerContext;
  #session: ServerHttp2Session | undefined;
  #newest: SocketRequest | undefined;
  #idleSinceMs: number;
  #leakedSinceMs: number | undefined;
  #pingedMs: number;
  #pongMissing = false;
  #isGoawaySent = false;
  #afterResponse: (() => void) | undefined;
  /** Requests of HTTP/1.1 that came before the one ahead of them was answered. */
  #waiting: (() => void)[] | undefined;

  /** `accepted` is the socket below TLS, which holds the descriptor. */
  constructor(socket: TLSSocket, accepted: Socket | undefined, context: ListenerContext) {
    this.socket = socket;
    this.#accepted = accepted;
    this.#context = context;
    this.remoteAddress = socket.remoteAddress ?? '';
    this.clientCertificates = context.asksForCertificates ? readClientCertificates(socket) : noCertificates;
    this.responseBytes = new MemoryBudget(limits.connectionResponseBytesMax, context.responseBytes);
    this.bodyBytes = new MemoryBudget(limits.connectionBodyBytesMax, context.bodyBytes);
    this.#idleSinceMs = context.nowMs;
    this.#pingedMs = context.nowMs;
  }

  attachSession(session: ServerHttp2Session): void {
    this.#session = session;
  }

  /** Undefined over HTTP/1.1. */
  get session(): ServerHttp2Session | undefined {
    return this.#session;
  }

  addRequest(request: SocketRequest): void {
    this.requests.add(request);
    this.#newest = request;
  }

  /** The request is over, answered or not. Does not throw: Node calls it back. */
  removeRequest(request: SocketRequest): void {
    try {
      request.finish();
      this.requests.delete(request);
      this.#idleSinceMs = this.#context.nowMs;
      // On a socket that is gone there is nobody to hear it.
      if (this.socket.destroyed) return;
      this.#afterResponse?.();
      this.#waiting?.shift()?.();
    } catch (error) {
      this.#context.guard.reportFailure('request', error, () => this.destroy());
    }
  }

  /** Serves the newest request now, or when those ahead of it have been answered and the client has taken their answers. */
  serveInTurn(serve: () => void): void {
    if (this.requests.size === 1) serve();
    else (this.#waiting ??= []).push(serve);
  }

  isNewest(request: SocketRequest): boolean {
    return this.#newest === request;
  }

  /** Runs now and after each answer: for what has to wait until accepted requests are answered. */
  afterEachResponse(act: () => void): void {
    this.#afterResponse = act;
    act();
  }

  /** The client sends nothing more. Most have gone; one that waits behind a shut side still gets what comes out. */
  abortRequests(): void {
    for (const request of this.requests) request.abort();
  }

  /** The socket is closed. Node tells those of its requests that it was answering, and not those behind them. */
  removeRequests(): void {
    for (const request of this.requests) this.removeRequest(request);
  }

  /** Ends the connection, whatever its session still believes. */
  destroy(): void {
    this.#session?.destroy();
    this.socket.destroy();
    this.#accepted?.destroy();
  }

  /**
   * Tells an HTTP/2 client to open its next request elsewhere; those it has sent, or is sending now, are still served.
   * A client that has not sent its first one yet could not send it any more, so it is told with its first answer.
   */
  sendGoaway(): void {
    const session = this.#session;
    if (!session || !this.#newest || session.destroyed || session.closed || this.#isGoawaySent) return;
    this.#isGoawaySent = true;
    session.goaway(noError, everyStream);
  }

  /** `idleMs` is how long it may have no request. */
  sweep(nowMs: number, idleMs: number): void {
    if (this.#isLeaked(nowMs)) return this.destroy();
    for (const request of this.requests)
      this.#context.guard.run(
        'timer',
        () => request.sweep(nowMs),
        () => this.destroy(),
      );
    if (this.requests.size > 0) return this.#ping(nowMs);
    const session = this.#session;
    // A session that the client has given up ends with its last stream, unless an error on the way made it deaf.
    const limitMs = session?.closed ? limits.idleWhileDrainingMs : idleMs;
    if (nowMs - this.#idleSinceMs <= limitMs) return;
    if (session && !session.closed) session.close();
    else this.destroy();
  }

  /**
   * A session that breaks off while its client leaves never closes its socket: it waits for a last write that nobody
   * takes, and the descriptor stays open. So does one whose client has ended the connection.
   */
  #isLeaked(nowMs: number): boolean {
    if (!this.socket.destroyed && !this.#session?.destroyed) return false;
    this.#leakedSinceMs ??= nowMs;
    return nowMs - this.#leakedSinceMs > limits.lingerMs;
  }

  /** Notices a client that has vanished without a word while nothing is to be sent to it. */
  #ping(nowMs: number): void {
    const session = this.#session;
    if (!session || session.destroyed) return;
    const quietMs = nowMs - this.#pingedMs;
    if (this.#pongMissing) {
      if (quietMs > limits.pingTimeoutMs) this.destroy();
      return;
    }
    if (quietMs <= limits.pingIntervalMs) return;
    this.#pingedMs = nowMs;
    this.#pongMissing = true;
    session.ping(() => {
      this.#pongMissing = false;
    });
  }
}

const noCertificates: readonly Buffer[] = [];
const noError = 0;
/** The last stream that will be served is not known yet. */
const everyStream = 2 ** 31 - 1;
