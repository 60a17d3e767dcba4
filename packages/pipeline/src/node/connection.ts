import type { ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { idleTimeoutMs, idleWhileLeavingMs } from './limits.ts';
import type { SocketRequest } from './socket-request.ts';

/** A client's connection with the requests it has open: a TLS socket with HTTP/1.1, or a session of HTTP/2. */
export class Connection {
  readonly carrier: Socket | ServerHttp2Session;
  readonly requests = new Set<SocketRequest>();
  /** Set with the answer after which HTTP/1.1 closes. Whatever comes behind would run without anybody to answer. */
  ended = false;
  /** Bytes came that are no request. */
  broken = false;
  #newest: SocketRequest | undefined;
  #idleSinceMs: number;
  #toldToLeave = false;
  #whenAnswered: (() => void) | undefined;

  constructor(carrier: Socket | ServerHttp2Session, nowMs: number) {
    this.carrier = carrier;
    this.#idleSinceMs = nowMs;
  }

  opened(request: SocketRequest): void {
    this.requests.add(request);
    this.#newest = request;
  }

  closed(request: SocketRequest, nowMs: number): void {
    this.requests.delete(request);
    this.#idleSinceMs = nowMs;
    this.#whenAnswered?.();
  }

  isNewest(request: SocketRequest): boolean {
    return this.#newest === request;
  }

  /** Runs now and after each answer: for what has to wait until accepted requests are answered. */
  whenAnswered(act: () => void): void {
    this.#whenAnswered = act;
    act();
  }

  /** The client sends nothing more. Most have gone; one that waits behind a shut side still gets what comes out. */
  clientLeft(): void {
    for (const request of this.requests) request.clientLeft();
  }

  /**
   * Tells an HTTP/2 client to open its next request elsewhere; those it has sent, or is sending now, are still served.
   * A client that has not sent its first one yet could not send it any more, so it is told with its first answer.
   */
  askToLeave(): void {
    if (!this.#newest) return;
    if (!('goaway' in this.carrier) || this.carrier.destroyed || this.carrier.closed || this.#toldToLeave) return;
    this.#toldToLeave = true;
    this.carrier.goaway(noError, everyStream);
  }

  sweep(nowMs: number, leaving: boolean): void {
    for (const request of this.requests) request.sweep(nowMs);
    if (this.requests.size > 0) return;
    // A session that the client has given up ends with its last stream, unless an error on the way made it deaf.
    const given = 'goaway' in this.carrier && this.carrier.closed;
    if (nowMs - this.#idleSinceMs <= (leaving || given ? idleWhileLeavingMs : idleTimeoutMs)) return;
    if ('goaway' in this.carrier && !given) this.carrier.close();
    else this.carrier.destroy();
  }
}

const noError = 0;
/** The last stream that will be served is not known yet. */
const everyStream = 2 ** 31 - 1;
