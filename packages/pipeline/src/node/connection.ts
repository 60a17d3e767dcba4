import type { ServerHttp2Session } from 'node:http2';
import type { Duplex } from 'node:stream';
import { idleTimeoutMs, idleWhileClosingMs } from './limits.ts';
import type { SocketRequest } from './socket-request.ts';

/** A client's connection, of either protocol, with the requests it has open. */
export class Connection {
  readonly socket: Duplex;
  readonly session: ServerHttp2Session | undefined;
  readonly requests = new Set<SocketRequest>();
  #idleSinceMs: number;
  #toldToLeave = false;
  #whenAnswered: (() => void) | undefined;

  constructor(socket: Duplex, session: ServerHttp2Session | undefined, nowMs: number) {
    this.socket = socket;
    this.session = session;
    this.#idleSinceMs = nowMs;
  }

  opened(request: SocketRequest): void {
    this.requests.add(request);
  }

  closed(request: SocketRequest, nowMs: number): void {
    this.requests.delete(request);
    this.#idleSinceMs = nowMs;
    this.#whenAnswered?.();
  }

  /** Runs after each answer from now on, and once at once: for what has to wait until accepted requests are answered. */
  whenAnswered(act: () => void): void {
    this.#whenAnswered = act;
    act();
  }

  /** Tells an HTTP/2 client to open its next request elsewhere; those it has sent, or is sending now, are still served. */
  askToLeave(): void {
    if (!this.session || this.session.destroyed || this.session.closed || this.#toldToLeave) return;
    this.#toldToLeave = true;
    this.session.goaway(noError, everyStream);
  }

  sweep(nowMs: number, closing: boolean): void {
    for (const request of this.requests) request.sweep(nowMs);
    if (this.requests.size > 0) return;
    if (nowMs - this.#idleSinceMs <= (closing ? idleWhileClosingMs : idleTimeoutMs)) return;
    if (this.session) this.session.close();
    else this.socket.destroy();
  }
}

const noError = 0;
/** The last stream that will be served is not known yet. */
const everyStream = 2 ** 31 - 1;
