/**
 * The same connection over Node's HTTP/2, which is slower. If the native implementation is not compatible with a member or
 * a proxy, operators can switch to this one (`--etcd-transport=node`).
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectNode, constants } from 'node:http2';
import type { Clock } from '@cluster-apiserver/base';
import type { Pieces } from '../../pieces.ts';
import { setStallAwareTimer } from '../stall-aware-timer.ts';
import {
  type Connection,
  connectionWindowBytes,
  type StreamListener,
  type Stream,
  streamWindowBytes,
} from './connection.ts';
import type { TlsCredentials } from './dial.ts';
import { HeaderDecoder } from './header-block.ts';
import { Keepalive } from './keepalive.ts';

/** In megabytes. Node's default of ten would refuse streams during large responses. */
const sessionMemoryMax = 1_000;

export function connectByNode(
  endpoint: string,
  credentials: TlsCredentials | undefined,
  clock: Clock,
  { timeoutMs }: { readonly timeoutMs: number },
): Connection {
  return new NodeConnection(endpoint, credentials, clock, timeoutMs);
}

class NodeConnection implements Connection {
  readonly #session: ClientHttp2Session;
  readonly #pings: Keepalive;
  #streams = 0;
  #isConnected = false;
  #isClosing = false;

  constructor(endpoint: string, credentials: TlsCredentials | undefined, clock: Clock, timeoutMs: number) {
    const session = connectNode(endpoint, {
      ...credentials,
      settings: { enablePush: false, initialWindowSize: streamWindowBytes },
      maxSessionMemory: sessionMemoryMax,
    });
    this.#session = session;
    this.#pings = new Keepalive({
      clock,
      timeoutMs: timeoutMs,
      send: () => session.ping((error) => error ?? this.#pings.noteAck()),
      isInUse: () => this.#streams > 0,
      onTimeout: (why) => session.destroy(new Error(`${endpoint} ${why}`)),
    });
    const cancelTimer = setStallAwareTimer(clock, timeoutMs, () =>
      session.destroy(new Error(`${endpoint} accepted no connection within ${Math.round(timeoutMs)} ms`)),
    );
    session.on('connect', () => {
      cancelTimer();
      if (session.encrypted && session.alpnProtocol !== 'h2') {
        const { hostname } = new URL(endpoint);
        session.destroy(new Error(`${hostname} did not agree to HTTP/2 in its TLS handshake (ALPN)`));
        return;
      }
      this.#isConnected = true;
      session.setLocalWindowSize(connectionWindowBytes);
      this.#pings.start();
    });
    session.on('goaway', () => (this.#isClosing = true));
    session.on('close', () => {
      cancelTimer();
      this.#pings.stop();
    });
    // Each stream reports the error itself.
    session.on('error', () => {});
  }

  get isUsable(): boolean {
    return !this.#isClosing && !this.#session.closed && !this.#session.destroyed;
  }

  get isOpen(): boolean {
    return !this.#session.destroyed;
  }

  open(headers: Buffer, listener: StreamListener): Stream {
    const stream = this.#session.request(Object.fromEntries(new HeaderDecoder().decode(headers)), { endStream: false });
    this.#streams++;
    stream.once('close', () => this.#streams--);
    return new NodeStream(stream, listener, () => this.#pings.noteActivity());
  }

  checkAlive(): void {
    if (this.#isConnected && !this.#session.destroyed) this.#pings.pingNow();
  }

  destroy(): void {
    this.#session.destroy();
  }
}

class NodeStream implements Stream {
  readonly #stream: ClientHttp2Stream;
  #hasEnded = false;

  constructor(stream: ClientHttp2Stream, listener: StreamListener, noteActivity: () => void) {
    this.#stream = stream;
    let error: Error | undefined;
    const receiveHeaders = (headers: object): void => {
      noteActivity();
      if (!this.#hasEnded)
        listener.onHeaders(new Map(Object.entries(headers).map(([name, value]) => [name, String(value)])));
    };
    stream.on('response', receiveHeaders);
    stream.on('trailers', receiveHeaders);
    stream.on('data', (piece: Buffer) => {
      noteActivity();
      if (!this.#hasEnded) listener.onData(piece);
    });
    stream.on('error', (cause: Error) => (error = cause));
    stream.on('end', () => {
      if (stream.rstCode === constants.NGHTTP2_NO_ERROR && !stream.aborted) this.#end(() => listener.onEnd());
    });
    stream.on('close', () => {
      const isUnsent = !this.isSent || stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
      this.#end(() => listener.onLost(isUnsent ? 'unsent' : 'lost', error));
    });
  }

  /** On an established connection Node sends the headers at once, without an event. */
  get isSent(): boolean {
    return !this.#stream.pending;
  }

  send(pieces: Pieces, last: boolean): void {
    if (this.#hasEnded) return;
    const bytes = Buffer.concat(pieces);
    if (last) this.#stream.end(bytes);
    else this.#stream.write(bytes);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  cancel(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  /** The response may end before the request has been sent completely. */
  #end(notify: () => void): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    notify();
    if (!this.#stream.closed) this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }
}
