import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { ShortList } from '@cluster-apiserver/base';
import { Budget } from './budget.ts';
import { readClientCertificates } from './client-certificates.ts';
import type { ListenerContext } from '../listener-context.ts';
import * as limits from '../limits.ts';
import type { OpenRequest } from '../request/open-request.ts';

/**
 * A client's connection with its open requests: an HTTP/1.1 connection or an HTTP/2 session. Address and certificates
 * are read when it begins, since Node drops them with the socket, before the last requests are handled.
 */
export class Connection {
  readonly socket: TLSSocket;
  readonly remoteAddress: string;
  readonly clientCertificates: readonly Buffer[];
  readonly requests = new ShortList<OpenRequest>();
  /** Whose requests take turns with those of others: the last user, and before the first one the connection itself. */
  owner: object | string = this;
  readonly responseBytes: Budget;
  readonly bodyBytes: Budget;
  /** Response bytes that the kernel has taken. */
  sentResponseBytes = 0;
  /** Set with the response after which HTTP/1.1 closes. Later requests could not be answered and are not run. */
  isEnded = false;
  /** Malformed bytes have arrived. */
  hasParseError = false;
  readonly #accepted: Socket | undefined;
  readonly #context: ListenerContext;
  #session: ServerHttp2Session | undefined;
  #newest: OpenRequest | undefined;
  #idleSinceMs: number;
  #leakedSinceMs: number | undefined;
  #pingedMs: number;
  #pongMissing = false;
  #isGoawaySent = false;
  #afterResponse: (() => void) | undefined;
  /** Pipelined requests that wait for previous ones. */
  #waiting: (() => void)[] | undefined;

  /** `accepted` is the TCP socket, which holds the descriptor. */
  constructor(socket: TLSSocket, accepted: Socket | undefined, context: ListenerContext) {
    this.socket = socket;
    this.#accepted = accepted;
    this.#context = context;
    this.remoteAddress = socket.remoteAddress ?? '';
    this.clientCertificates = context.asksForCertificates ? readClientCertificates(socket) : noCertificates;
    this.responseBytes = new Budget(limits.connectionResponseBytesMax, context.responseBytes);
    this.bodyBytes = new Budget(limits.connectionBodyBytesMax, context.bodyBytes);
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

  addRequest(request: OpenRequest): void {
    this.requests.add(request);
    this.#newest = request;
  }

  /** The request has finished, answered or not. Does not throw, since Node calls it. */
  removeRequest(request: OpenRequest): void {
    try {
      request.finish();
      this.requests.delete(request);
      this.#idleSinceMs = this.#context.nowMs;
      // The client is gone.
      if (this.socket.destroyed) return;
      this.#afterResponse?.();
      this.#waiting?.shift()?.();
    } catch (error) {
      this.#context.guard.reportFailure('request', error, () => this.destroy());
    }
  }

  /** Serves the newest request, after the responses to previous ones have been sent. */
  serveInTurn<Request>(request: Request, serve: (request: Request) => void): void {
    if (this.requests.size === 1) serve(request);
    else (this.#waiting ??= []).push(() => serve(request));
  }

  isNewest(request: OpenRequest): boolean {
    return this.#newest === request;
  }

  /** Runs now and after each response: for what must wait for pending responses. */
  afterEachResponse(act: () => void): void {
    this.#afterResponse = act;
    act();
  }

  /**
   * The client has ended its side. Most have disconnected; one that half-closed its connection still gets its
   * responses.
   */
  abortRequests(): void {
    for (const request of this.requests) request.abort();
  }

  /** The socket has closed. Node emits no event for pipelined requests that wait. */
  removeRequests(): void {
    for (const request of this.requests) this.removeRequest(request);
  }

  /** Ends the connection, whatever the state of its session. */
  destroy(): void {
    this.#session?.destroy();
    this.socket.destroy();
    this.#accepted?.destroy();
  }

  /**
   * Asks an HTTP/2 client to open new streams elsewhere; streams that it has sent are still served. A client without a
   * stream could not send its first one any more, so it gets GOAWAY with that.
   */
  sendGoaway(): void {
    const session = this.#session;
    if (!session || !this.#newest || session.destroyed || session.closed || this.#isGoawaySent) return;
    this.#isGoawaySent = true;
    session.goaway(noError, streamIdMax);
  }

  /** `idleMs` is the idle timeout. */
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
    // A closed session ends with its last stream, unless an error has stopped its events.
    const limitMs = session?.closed ? limits.idleWhileDrainingMs : idleMs;
    if (nowMs - this.#idleSinceMs <= limitMs) return;
    if (session && !session.closed) session.close();
    else this.destroy();
  }

  /**
   * A session that fails while its client disconnects never closes its socket, since it waits for a last write. A
   * session whose client has ended the connection does not either. And one that fails while closing ends our side and
   * reads no more, so the end of the client's side goes unnoticed.
   */
  #isLeaked(nowMs: number): boolean {
    if (!this.socket.destroyed && !this.#session?.destroyed) return false;
    this.#leakedSinceMs ??= nowMs;
    return nowMs - this.#leakedSinceMs > limits.lingerMs;
  }

  /** Detects a client that has vanished while nothing is sent to it. */
  #ping(nowMs: number): void {
    const session = this.#session;
    if (!session || session.destroyed) return;
    const isDraining = this.#context.draining.aborted;
    const quietMs = nowMs - this.#pingedMs;
    if (this.#pongMissing) {
      if (quietMs > (isDraining ? limits.pingTimeoutWhileDrainingMs : limits.pingTimeoutMs)) this.destroy();
      return;
    }
    if (session.closed || (quietMs <= limits.pingIntervalMs && !isDraining)) return;
    this.#pingedMs = nowMs;
    this.#pongMissing = true;
    session.ping(() => {
      this.#pongMissing = false;
    });
  }
}

const noCertificates: readonly Buffer[] = [];
const noError = 0;
/** The last stream ID is not known yet. */
const streamIdMax = 2 ** 31 - 1;
