/** gRPC over HTTP/2, as much of it as etcd needs. This is the hot path of the whole server: it stays bare. */
import { type Clock, traceHeaders } from '@cluster-apiserver/base';
import { decodeStatusMessage, encodeGrpcMessage, MessageReader } from './grpc-frames.ts';
import { type Connection, connect, type StreamListener, timeoutMinMs, type Stream } from './http2/connection.ts';
import { connectByNode } from './http2/node-connection.ts';
import type { TlsCredentials } from './http2/dial.ts';
import { type HeaderField, encodeHeaderBlock } from './http2/header-block.ts';
import { setStallAwareTimer } from './stall-aware-timer.ts';
import {
  type Connect,
  EtcdFault,
  type FaultKind,
  type LateResponseListener,
  type MemberStream,
  type Transport,
  type UnaryOptions,
} from './transport.ts';

const okCode = 0;
const unknownCode = 2;
const unavailableCode = 14;

/** Messages of a stream that wait for their reader before the member is held back. */
const bufferedMessagesMax = 16;

/** The same in bytes: a message of a watch holds up to 1,000 revisions, each with the object before and after it. */
const bufferedBytesMax = 1024 * 1024;

/** By whose HTTP/2 members are reached: our own, or Node's. */
export const etcdTransports = ['native', 'node'] as const;
export type EtcdTransport = (typeof etcdTransports)[number];

const connectors = { native: connect, node: connectByNode };

export interface Http2Options {
  readonly transport?: EtcdTransport;
  /** etcd's --election-timeout: where members wait longer for each other, so do we. */
  readonly electionTimeoutMs?: number;
}

export const http2Connect =
  (clock: Clock, tls: GetCredentials = () => undefined, options: Http2Options = {}): Connect =>
  (endpoint) =>
    new Http2Transport(endpoint, clock, tls, options);

/** Asked for each connection: certificates are replaced while connections last. */
export type GetCredentials = () => TlsCredentials | undefined;

class Http2Transport implements Transport {
  readonly #endpoint: string;
  readonly #clock: Clock;
  readonly #tls: GetCredentials;
  /** Most calls of a method have the same time, and then the same headers. */
  readonly #headers = new Map<string, CachedHeaders>();
  readonly #connect: typeof connectByNode;
  readonly #timeoutMs: number;
  #connection: Connection | undefined;
  #connections = 0;
  #closed = false;

  constructor(
    endpoint: string,
    clock: Clock,
    tls: GetCredentials,
    { transport = 'native', electionTimeoutMs = 0 }: Http2Options,
  ) {
    this.#connect = connectors[transport];
    this.#timeoutMs = Math.max(timeoutMinMs, electionTimeoutMs);
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#tls = tls;
  }

  unary(path: string, question: Uint8Array, { timeoutMs, late, requireLeader, trace }: UnaryOptions): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      // The member gives up at this time, so whoever listens for longer leaves it more.
      const same = this.#headersOf(path, requireLeader, `${Math.ceil(timeoutMs + (late?.withinMs ?? 0))}m`);
      const headers = trace ? Buffer.concat([same, encodeHeaderBlock(Object.entries(traceHeaders(trace)))]) : same;
      const asked = new UnaryCall(this.#endpoint, this.#clock, resolve, reject, late);
      asked.ask(this.#current(), headers, question, timeoutMs);
    });
  }

  openStream(path: string): MemberStream {
    try {
      return new BidiStream(this.#endpoint, this.#current(), this.#headersOf(path, true));
    } catch (fault) {
      return failedStream(fault);
    }
  }

  get connectionNumber(): number {
    this.#current();
    return this.#connections;
  }

  close(): void {
    this.#closed = true;
    this.#connection?.destroy();
  }

  /** A connection that takes no more requests still finishes those it has, so it is replaced and not torn down. */
  #current(): Connection {
    try {
      if (this.#closed) throw new Error('the client is closed');
      if (!this.#connection?.isUsable) {
        this.#connection = this.#connect(this.#endpoint, this.#tls(), this.#clock, { timeoutMs: this.#timeoutMs });
        this.#connections++;
      }
      return this.#connection;
    } catch (cause) {
      throw new EtcdFault('unsent', unavailableCode, `cannot reach ${this.#endpoint}`, { cause });
    }
  }

  #headersOf(path: string, requireLeader: boolean, timeout?: string): Buffer {
    const known = this.#headers.get(path);
    if (known && known.timeout === timeout && known.requireLeader === requireLeader) return known.block;
    const { protocol, host } = new URL(this.#endpoint);
    const fields: HeaderField[] = [
      [':method', 'POST'],
      [':scheme', protocol.slice(0, -1)],
      [':path', path],
      [':authority', host],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
    ];
    // etcd then answers "no leader" at once; without it, it would wait for a leader for 7 seconds.
    if (requireLeader) fields.push(['hasleader', 'true']);
    if (timeout !== undefined) fields.push(['grpc-timeout', timeout]);
    const block = encodeHeaderBlock(fields);
    this.#headers.set(path, { requireLeader, timeout, block });
    return block;
  }
}

interface CachedHeaders {
  readonly requireLeader: boolean;
  readonly timeout: string | undefined;
  readonly block: Buffer;
}

/** One message there, one message and its status back, whichever of headers and trailers bring that. */
class UnaryCall implements StreamListener {
  readonly #endpoint: string;
  readonly #clock: Clock;
  readonly #resolve: (message: Buffer) => void;
  readonly #reject: (fault: EtcdFault) => void;
  readonly #reader = new MessageReader();
  #message: Buffer | undefined;
  #settled = false;
  #cancelTimer = (): void => {};
  #cancelStream = (): void => {};
  readonly #late: LateResponseListener | undefined;
  #isLate = false;

  constructor(
    endpoint: string,
    clock: Clock,
    resolve: (message: Buffer) => void,
    reject: (fault: EtcdFault) => void,
    late: LateResponseListener | undefined,
  ) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#late = late;
  }

  ask(connection: Connection, headers: Buffer, question: Uint8Array, timeoutMs: number): void {
    const stream = connection.open(headers, this);
    stream.send(encodeGrpcMessage(question), true);
    this.#cancelStream = () => stream.cancel();
    this.#cancelTimer = setStallAwareTimer(this.#clock, timeoutMs, () => {
      this.#timeOut(stream.isSent, timeoutMs);
      connection.checkAlive();
    });
  }

  #timeOut(isSent: boolean, timeoutMs: number): void {
    const why = `gave no answer within ${timeoutMs} ms`;
    if (!isSent || !this.#late) return this.#giveUp(isSent ? 'lost' : 'unsent', unavailableCode, why);
    this.#settle(new EtcdFault('lost', unavailableCode, `${this.#endpoint} ${why}`));
    this.#isLate = true;
    this.#cancelTimer = this.#clock.after(this.#late.withinMs, () => this.#endLate());
  }

  #endLate(): void {
    this.#isLate = false;
    this.#cancelTimer();
    this.#cancelStream();
  }

  onHeaders(headers: ReadonlyMap<string, string>): void {
    if (headers.has('grpc-status')) {
      const refusal = refusalOf(headers);
      if (this.#isLate) {
        if (!refusal && this.#message) this.#late?.onResponse(this.#message);
        this.#endLate();
      } else if (refusal || this.#message) this.#settle(refusal);
      else this.#giveUp('lost', unknownCode, 'answered without a message');
      return;
    }
    const fault = httpProblemOf(headers);
    if (fault) this.#giveUp('lost', unavailableCode, fault);
  }

  onData(piece: Buffer): void {
    try {
      const [message] = this.#reader.push(piece);
      this.#message ??= message;
    } catch (cause) {
      this.#giveUp('lost', unknownCode, 'gave an unreadable answer', { cause });
    }
  }

  onEnd(): void {
    this.#giveUp('lost', unknownCode, 'answered without a status');
  }

  onLost(kind: 'unsent' | 'lost', cause?: Error): void {
    this.#giveUp(kind, unavailableCode, connectionLost, { cause });
  }

  #giveUp(kind: FaultKind, code: number, why: string, options?: ErrorOptions): void {
    if (this.#isLate) this.#endLate();
    if (this.#settled) return;
    this.#settle(new EtcdFault(kind, code, `${this.#endpoint} ${why}`, options));
    this.#cancelStream();
  }

  /** The first end counts; those after it say nothing new. */
  #settle(fault: EtcdFault | undefined): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#cancelTimer();
    if (fault) this.#reject(fault);
    else this.#resolve(this.#message as Buffer);
  }
}

const connectionLost = 'was there no longer: the connection was lost';

/** Messages in both directions. */
class BidiStream implements MemberStream, StreamListener {
  readonly #endpoint: string;
  readonly #stream: Stream;
  readonly #reader = new MessageReader();
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #ended = false;
  #fault: EtcdFault | undefined;
  #wake = (): void => {};
  readonly messages: AsyncIterable<Buffer> = this.#read();

  constructor(endpoint: string, connection: Connection, headers: Buffer) {
    this.#endpoint = endpoint;
    this.#stream = connection.open(headers, this);
  }

  send(message: Uint8Array): void {
    this.#stream.send(encodeGrpcMessage(message), false);
  }

  close(): void {
    this.#end();
    this.#stream.cancel();
  }

  onHeaders(headers: ReadonlyMap<string, string>): void {
    const fault = httpProblemOf(headers);
    if (headers.has('grpc-status')) this.#end(refusalOf(headers));
    else if (fault) this.#giveUp('lost', unavailableCode, fault);
  }

  onData(piece: Buffer): void {
    try {
      for (const message of this.#reader.push(piece)) {
        this.#waiting.push(message);
        this.#waitingBytes += message.length;
      }
    } catch (cause) {
      this.#giveUp('lost', unknownCode, 'sent an unreadable message', { cause });
    }
    if (this.#waiting.length > bufferedMessagesMax || this.#waitingBytes > bufferedBytesMax) this.#stream.pause();
    this.#wake();
  }

  onEnd(): void {
    this.#giveUp('lost', unknownCode, 'ended a stream without a status');
  }

  onLost(kind: 'unsent' | 'lost', cause?: Error): void {
    this.#giveUp(kind, unavailableCode, connectionLost, { cause });
  }

  async *#read(): AsyncGenerator<Buffer> {
    try {
      for (;;) {
        for (let message = this.#waiting.shift(); message; message = this.#waiting.shift()) {
          this.#waitingBytes -= message.length;
          if (this.#waiting.length === 0) this.#stream.resume();
          yield message;
        }
        if (this.#fault) throw this.#fault;
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      this.close();
    }
  }

  #giveUp(kind: FaultKind, code: number, why: string, options?: ErrorOptions): void {
    this.#end(new EtcdFault(kind, code, `${this.#endpoint} ${why}`, options));
    this.#stream.cancel();
  }

  /** What has come before is still read. */
  #end(fault?: EtcdFault): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#fault = fault;
    this.#wake();
  }
}

/** A stream that could not even be opened. */
function failedStream(fault: unknown): MemberStream {
  const messages: AsyncIterable<Buffer> = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(fault) }) };
  return { send: () => {}, messages, close: () => {} };
}

function refusalOf(headers: ReadonlyMap<string, string>): EtcdFault | undefined {
  const code = Number(headers.get('grpc-status'));
  if (code === okCode) return undefined;
  return new EtcdFault('refused', code, decodeStatusMessage(headers.get('grpc-message') ?? ''));
}

/** An answer of something that stands between us and the member. */
function httpProblemOf(headers: ReadonlyMap<string, string>): string | undefined {
  const status = headers.get(':status');
  return status === undefined || status === '200' || status.startsWith('1')
    ? undefined
    : `answered HTTP status ${status}`;
}
