import type { StatusError } from '@cluster-apiserver/model';
import type { BodySource, ReadyBody } from './body-source.ts';

/** A request independent of its protocol: HTTP/1.1, HTTP/2 or a unit test. It holds references and copies nothing. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query, still encoded. */
  readonly target: string;
  /** The first value of a header, by lower-case name. */
  header(name: string): string | undefined;
  /** All lines of a header, never joined: two `Impersonate-Group` lines are two groups. */
  headerLines(name: string): readonly string[];
  /** All lines of headers whose lower-case name begins with the prefix. */
  headersFrom(prefix: string): readonly (readonly [name: string, value: string])[];
  /**
   * Reads the body, which has not been read before: unauthenticated callers must not fill the memory. Rejects with
   * BodyTooLargeError as soon as the limit is passed, BodyTooSlowError, BodyMemoryError if too many bodies are in
   * memory, and ClientGoneError if the client disconnects. Not a promise if the body has arrived already.
   */
  body(limitBytes: number): Buffer | Promise<Buffer>;
  readonly remoteAddress: string;
  /**
   * The client's certificate chain from the TLS handshake as DER, its own first; empty unless the server requests
   * certificates. Nothing has been verified. The same array for all requests of a connection.
   */
  readonly clientCertificates: readonly Buffer[];
  /** Why the listener refuses the request: it is ambiguous or too large. It is recorded like others, and never handled. */
  readonly refusal?: StatusError | undefined;
  /** Whether the client requests a WebSocket: a stream with status 101 is then sent as messages. */
  readonly isWebSocket: boolean;
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2.0';
  /**
   * Aborts when the client disconnects before the response is complete. Created on first use: most requests need none.
   * Listeners must not throw, since Node would end the process.
   */
  readonly signal: AbortSignal;
  /** Like `signal.aborted`, without creating a signal. */
  readonly isAborted: boolean;
  /** Calls back once, when the response has been sent or the client has disconnected; at once if that is over. */
  onEnd(listener: (end: ExchangeEnd) => void): void;
  /** The next requests of the connection take turns with all others of this user, however many connections it has. */
  takeTurnsAs(user: string): void;
}

export interface ExchangeEnd {
  /** `aborted`: the client disconnected, or the server cut the response off, before the kernel had the last byte. */
  readonly outcome: 'complete' | 'aborted';
  /** Bytes of the response body that were written to the socket, before TLS and framing. */
  readonly bodyBytes: number;
}

/** Headers without those of the framing (length, transfer, connection, date), which the listener adds. */
export type OutgoingHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface ApiResponse {
  readonly status: number;
  readonly headers: OutgoingHeaders;
  readonly body?: ReadyBody | BodySource | undefined;
  /**
   * Writes a stream of events instead of a body. The headers are sent before its first byte. The response ends when the
   * promise resolves, and is cut off if it rejects.
   */
  readonly stream?: WriteStream | undefined;
}

export type WriteStream = (sink: Sink) => Promise<void>;

export interface Sink {
  /** Queues bytes, which must not change afterwards. */
  write(bytes: Buffer): void;
  /** Bytes that the kernel has not taken yet. */
  readonly backlogBytes: number;
  /** Resolves when the backlog is empty or the client has disconnected. */
  drained(): Promise<void>;
  /** Aborts when the client disconnects, or is disconnected: the reason is a ClientGoneError. */
  readonly signal: AbortSignal;
  /** Aborts when the server drains: the stream should end soon, where the client can resume. */
  readonly draining: AbortSignal;
}

/** Handles a request. Errors become responses in stages/answer.ts. */
export type Handler<Facts> = (context: Facts) => ApiResponse | Promise<ApiResponse>;

export class BodyTooLargeError extends Error {
  override readonly name = 'BodyTooLargeError';
  constructor(limitBytes: number) {
    super(`limit is ${limitBytes}`);
  }
}

export class BodyTooSlowError extends Error {
  override readonly name = 'BodyTooSlowError';
}

/** The bodies of all clients exceed their memory. The same request may succeed a moment later. */
export class BodyMemoryError extends Error {
  override readonly name = 'BodyMemoryError';
}

export class ClientGoneError extends Error {
  override readonly name: string = 'ClientGoneError';
}

/** The client stopped reading, so the response is cut off. Not an error of the server. */
export class StalledClientError extends ClientGoneError {
  override readonly name = 'StalledClientError';
}
