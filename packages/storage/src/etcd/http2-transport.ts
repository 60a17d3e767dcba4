/** gRPC over HTTP/2, as much of it as etcd needs. Every request of the server passes here, so it does little work. */
import { type Clock, traceHeaders } from '@cluster-apiserver/base';
import { BidiStream, failedStream } from './bidi-stream.ts';
import { unavailableCode } from './grpc-status.ts';
import { Connection, timeoutMinMs } from './http2/connection.ts';
import type { TlsCredentials } from './http2/dial.ts';
import { encodeHeaderBlock, type HeaderField } from './http2/header-block.ts';
import { type Connect, EtcdFault, type MemberStream, type Transport, type UnaryOptions } from './transport.ts';
import { UnaryCall } from './unary-call.ts';

export interface Http2Options {
  /** etcd's --election-timeout. Connections may take as long. */
  readonly electionTimeoutMs?: number;
}

export const http2Connect =
  (clock: Clock, tls: GetCredentials = () => undefined, { electionTimeoutMs = 0 }: Http2Options = {}): Connect =>
  (endpoint) =>
    new Http2Transport(endpoint, clock, tls, Math.max(timeoutMinMs, electionTimeoutMs));

/** Called for each connection, because certificates are reloaded while the server runs. */
export type GetCredentials = () => TlsCredentials | undefined;

class Http2Transport implements Transport {
  readonly #endpoint: string;
  readonly #clock: Clock;
  readonly #tls: GetCredentials;
  /** By path. Most calls of a method have the same timeout, and then the same headers. */
  readonly #headers = new Map<string, CachedHeaders>();
  readonly #timeoutMs: number;
  #connection: Connection | undefined;
  /** Connections that take no new streams and finish their open ones. */
  #closing: readonly Connection[] = [];
  #connections = 0;
  #closed = false;

  constructor(endpoint: string, clock: Clock, tls: GetCredentials, timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#tls = tls;
  }

  unary(path: string, request: Uint8Array, { timeoutMs, late, requireLeader, trace }: UnaryOptions): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      // The member gives up after this time, so it includes the time to wait for a late response.
      const cached = this.#headersOf(path, requireLeader, `${Math.ceil(timeoutMs + (late?.withinMs ?? 0))}m`);
      const headers = trace ? Buffer.concat([cached, encodeHeaderBlock(Object.entries(traceHeaders(trace)))]) : cached;
      const call = new UnaryCall(this.#endpoint, this.#clock, resolve, reject, late);
      call.send(this.#current(), headers, request, timeoutMs);
    });
  }

  openStream(path: string): MemberStream {
    try {
      const options = { headers: this.#headersOf(path, true), responseMs: this.#timeoutMs / 2 };
      return new BidiStream(this.#endpoint, this.#clock, this.#current(), options);
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
    for (const connection of [...this.#closing, this.#connection]) connection?.destroy();
  }

  /** A connection that takes no new streams still finishes its open ones, so it is replaced but not closed. */
  #current(): Connection {
    try {
      if (this.#closed) throw new Error('the client is closed');
      if (!this.#connection?.isUsable) {
        const replaced = this.#connection ? [...this.#closing, this.#connection] : [];
        this.#closing = replaced.filter(({ isOpen }) => isOpen);
        this.#connection = new Connection(this.#endpoint, this.#tls(), this.#clock, { timeoutMs: this.#timeoutMs });
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
    // With this header etcd responds "no leader" at once. Without it, etcd would wait 7 seconds for a leader.
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
