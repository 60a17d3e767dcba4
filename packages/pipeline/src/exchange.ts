import type { ByteString } from '@cluster-apiserver/model';

/** A request without a socket: what HTTP/1.1, HTTP/2 and a unit test have in common. It holds references and copies nothing. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query as they came, still encoded. */
  readonly target: string;
  /** The one value of a header, by its lower-case name. Where a client sent several, the first. */
  header(name: string): string | undefined;
  /** Every value of a header as its own line, never joined: two `Impersonate-Group` lines are two groups. */
  headerLines(name: string): readonly string[];
  /** Every line of every header whose lower-case name begins with this, by that name. */
  headersFrom(prefix: string): readonly (readonly [name: string, value: string])[];
  /**
   * The body, read now and not before: an unknown caller must not make us hold a megabyte. Throws BodyTooLargeError
   * as soon as the limit is passed, BodyTooSlowError when it trickles, BodyMemoryError when too many bodies are on their
   * way, and ClientGoneError when the client leaves half-way.
   */
  body(limitBytes: number): Promise<Buffer>;
  readonly remoteAddress: string;
  /**
   * What the client has shown at the handshake, its own certificate first and then those that may help to believe it,
   * as DER; none unless they are asked for. Nothing here has been verified. One object for each connection.
   */
  readonly clientCertificates: readonly Buffer[];
  /** Whether the client waits for a WebSocket: a stream that is answered with 101 is sent it in messages. */
  readonly isWebSocket: boolean;
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2.0';
  /**
   * Aborts when the client goes away before the answer is complete. Made on first use: most requests never ask. What
   * listens must not throw: Node would end the process.
   */
  readonly signal: AbortSignal;
  /** Whether the client has gone away before the answer was complete: what the signal says, without making one. */
  readonly isAborted: boolean;
  /** Calls back once, when the response has been sent or its client is gone. */
  onEnd(listener: (end: ExchangeEnd) => void): void;
}

/** How an exchange ended. */
export interface ExchangeEnd {
  /** `aborted`: the client left, or the server cut the response off, before the last byte was handed to the kernel. */
  readonly outcome: 'complete' | 'aborted';
  /** Bytes of the response body that were handed to the socket, before TLS and framing. */
  readonly bodyBytes: number;
}

/** What the answer says. What its framing needs (length, transfer, connection, date) is added where the protocol is known. */
export type OutgoingHeaders = Readonly<Record<string, string | readonly string[]>>;

export interface ApiResponse {
  readonly status: number;
  readonly headers: OutgoingHeaders;
  /** Ready bytes, bytes that are put together while they are sent, or a stream that is written as it comes. */
  readonly body?: SizedBody | ChunkedBody | StreamBody;
}

/** What has a length before it is sent. */
export type SizedBody = Buffer | ByteString | Pieces;

/** Large bodies are made piece by piece, each when the one before has left: so a long list needs no memory of its length. */
export interface Pieces {
  readonly length: number;
  /**
   * None larger than `pieceBytes` by more than what cannot be parted. What is put together anew for a piece may lie in
   * memory that `room` gives, and is the reader's until that gives it again.
   */
  pieces(pieceBytes: number, allocate: Allocate): Iterable<Buffer>;
}

/** Gives memory of so many bytes or fewer, with anything in it. */
export type Allocate = (bytes: number) => Buffer;

/** Pieces whose length shows when they have been made, such as compressed ones. Each is made when the one before has left. */
export interface ChunkedBody {
  chunks(): AsyncIterable<Buffer>;
}

export const isSized = (body: ApiResponse['body']): body is SizedBody =>
  body !== undefined && (typeof body === 'string' || 'length' in body);

/** Writes an answer of unknown length. The headers leave at once, before the first byte of the body. */
export interface StreamBody {
  /** The response ends when it resolves, behind all that was written, and is cut off when it rejects. */
  stream(sink: Sink): Promise<void>;
}

/** The client has stopped reading: the response is cut off, and nothing is wrong with the server. */
export class StalledClientError extends Error {
  override readonly name = 'StalledClientError';
}

export interface Sink {
  /** Queues bytes for the socket. They must not change afterwards. */
  write(bytes: Buffer): void;
  /** What was written and has not left for the kernel yet. */
  readonly backlogBytes: number;
  /** Resolves when the backlog is gone or the client is. */
  drained(): Promise<void>;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** Aborts when the server is about to close: the stream should end soon, at a place where the client can resume. */
  readonly draining: AbortSignal;
}

/** How an exchange ends: a value for every request, thrown errors included (see stages/error-responses.ts). */
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

/** Bodies of all clients together took too much memory. The same request may succeed in a moment. */
export class BodyMemoryError extends Error {
  override readonly name = 'BodyMemoryError';
}

export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';
}
