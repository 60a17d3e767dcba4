import type { Readable } from 'node:stream';
import { End, invariant, type ListEntry } from '@cluster-apiserver/base';
import type { StatusError } from '@cluster-apiserver/model';
import {
  type ApiRequest,
  type ApiResponse,
  BodyMemoryError,
  BodyTooLargeError,
  BodyTooSlowError,
  ClientGoneError,
  type ExchangeEnd,
  StalledClientError,
  type WriteStream,
} from '../../exchange.ts';
import { type BodySource, isReady, type ReadyBody } from '../../body-source.ts';
import type { Connection } from '../connection/connection.ts';
import type { ListenerContext } from '../listener-context.ts';
import type { FailedRequest } from '../callback-guard.ts';
import { bodyBytesPerSecondMin, bodyGraceMs, firstPieceBytes } from '../limits.ts';
import type { CutOffResponse, RefusedBody } from '../measures.ts';
import { type BodyWriter, BodySink, writePieces } from './write-body.ts';
import { findHeader, findHeaderLines, findHeadersFrom } from './header-lookup.ts';
import { createRefusal, refusalResponse } from './refusal.ts';
import type { OpenRequest } from './open-request.ts';
import { ResponsePieces } from './response-pieces.ts';
import { type Backlog, ResponseProgress } from './response-progress.ts';
import { type Receiving, receiveBody } from './receive-body.ts';

const emptyBody = Buffer.alloc(0);

/**
 * A single instance: a connection may end with a hundred open requests, and each stack trace costs more than the rest.
 */
const clientLeft = new ClientGoneError('the client left');
const clientStalled = new StalledClientError('the client stopped reading');

/**
 * One request on a socket, until its response has been sent. It keeps references to Node's objects and computes only
 * what is used: no URL is parsed, no header copied, no timer or signal created unless needed.
 */
export abstract class SocketRequest implements ApiRequest, OpenRequest {
  abstract readonly method: string;
  abstract readonly target: string;
  abstract readonly protocol: ApiRequest['protocol'];
  /** Names and values alternate, as in Node's `rawHeaders`. */
  abstract readonly rawHeaders: readonly string[];

  refusal: StatusError | undefined;
  readonly connection: Connection;
  protected readonly context: ListenerContext;
  #receiving: Receiving | undefined;
  /** The place among all arriving bodies. */
  #arriving: ListEntry<OpenRequest> | undefined;
  #abortController: AbortController | undefined;
  #isClientGone = false;
  /** The reason of the signal if it aborts. */
  #abortReason: ClientGoneError = clientLeft;
  #isFinished = false;
  readonly #end = new End<ExchangeEnd>();
  readonly #progress: ResponseProgress;
  #sink: BodySink | undefined;
  /** Bytes of the request body in memory. */
  #bufferedRequestBytes = 0;

  constructor(connection: Connection, context: ListenerContext) {
    this.connection = connection;
    this.context = context;
    this.#progress = new ResponseProgress(connection.responseBytes);
  }

  get remoteAddress(): string {
    return this.connection.remoteAddress;
  }

  get clientCertificates(): readonly Buffer[] {
    return this.connection.clientCertificates;
  }

  header(name: string): string | undefined {
    const value = findHeader(this.rawHeaders, name);
    return value === undefined ? undefined : this.decodeHeaderValue(value);
  }

  headerLines(name: string): readonly string[] {
    return findHeaderLines(this.rawHeaders, name).map((value) => this.decodeHeaderValue(value));
  }

  headersFrom(prefix: string): readonly (readonly [name: string, value: string])[] {
    return findHeadersFrom(this.rawHeaders, prefix).map(([name, value]) => [name, this.decodeHeaderValue(value)]);
  }

  get isWebSocket(): boolean {
    return false;
  }

  body(limitBytes: number): Promise<Buffer> {
    invariant(!this.#receiving, 'the body of a request can only be read once');
    if (!this.hasBody) return Promise.resolve(emptyBody);
    if (this.#isFinished) return Promise.reject(clientLeft);
    const declared = this.header('content-length');
    if (declared !== undefined && Number(declared) > limitBytes)
      return Promise.reject(new BodyTooLargeError(limitBytes));
    this.sendContinue();
    const { body, receiving } = receiveBody(
      this.source,
      () => this.isBodyComplete,
      limitBytes,
      this.context.nowMs,
      (bytes) => this.#countReceived(bytes),
    );
    this.#receiving = receiving;
    // Most bodies have arrived with their request.
    if (this.isBodyArriving) this.#arriving = this.context.receiving.add(this);
    return body;
  }

  get isAborted(): boolean {
    return this.#isClientGone;
  }

  /**
   * Counts a piece of the body in the callback of the socket; does not throw. If memory for bodies is exhausted, the
   * oldest body is refused: fast ones arrive within a moment.
   */
  #countReceived(bytes: number): void {
    const { connection, context } = this;
    try {
      this.#bufferedRequestBytes += bytes;
      connection.bodyBytes.acquire(bytes);
      while (connection.bodyBytes.isFull && refuseOldest(connection.requests));
      while (context.bodyBytes.isFull && refuseOldest(context.receiving));
    } catch (error) {
      context.guard.reportFailure('request', error, () => this.cutOff());
    }
  }

  get isReceiving(): boolean {
    return this.#receiving !== undefined && !this.#receiving.isOver && this.isBodyArriving;
  }

  refuseBody(reason: RefusedBody): void {
    const { guard, measures } = this.context;
    guard.run('request', () => measures.countRefusedBody(reason));
    this.#receiving?.fail(
      reason === 'slow'
        ? new BodyTooSlowError(`the body arrived at less than ${bodyBytesPerSecondMin} bytes per second`)
        : new BodyMemoryError('memory for request bodies is exhausted'),
    );
    this.#releaseBody();
  }

  #releaseBody(): void {
    if (this.#arriving) this.context.receiving.delete(this.#arriving);
    this.#arriving = undefined;
    this.connection.bodyBytes.release(this.#bufferedRequestBytes);
    this.#bufferedRequestBytes = 0;
  }

  get signal(): AbortSignal {
    if (!this.#abortController) {
      this.#abortController = new AbortController();
      if (this.#isFinished || this.#isClientGone) this.#abortController.abort(this.#abortReason);
    }
    return this.#abortController.signal;
  }

  /** Sends the response, or a 500 instead. Does not throw: callers could not report it to the client. */
  respond(response: ApiResponse): void {
    try {
      this.writeResponse(response);
    } catch (error) {
      this.context.guard.reportFailure('response', error, () => this.#respondFailure());
    }
  }

  #respondFailure(): void {
    try {
      if (!this.isHeadSent)
        return this.writeResponse(refusalResponse(createRefusal(500, 'the response could not be written')));
    } catch {
      // Only cutting it off is left.
    }
    this.cutOff();
  }

  /**
   * Ends the connection or stream abnormally, so that the client does not take a partial response for a complete one.
   */
  abstract cutOff(): void;

  /** Whether the client has disconnected. */
  abstract readonly isDisconnected: boolean;

  /** Checks the limits of this request. */
  sweep(nowMs: number): void {
    const receiving = this.#receiving;
    if (receiving && this.isReceiving && isTooSlow(receiving, nowMs)) this.refuseBody('slow');
    this.#progress.sweep(nowMs);
    if (this.#progress.isStalled(nowMs)) this.abandonResponse('stalled');
  }

  get backlog(): Backlog | undefined {
    return this.#progress.backlog;
  }

  get streamBacklogBytes(): number {
    return this.#sink ? this.#progress.unwrittenBytes : 0;
  }

  abandonResponse(reason: CutOffResponse): void {
    const { guard, measures } = this.context;
    guard.run('response', () => measures.countCutOffResponse(reason));
    this.#abortReason = clientStalled;
    this.cutOff();
  }

  /** Called when the socket or stream has finished with the request, answered or not. */
  finish(): void {
    if (this.#isFinished) return;
    const isAnswered = this.isAnswered;
    this.#isFinished = true;
    this.#releaseBody();
    this.#progress.finish();
    if (!isAnswered) this.abort();
    const bodyBytes = this.#progress.writtenBytes + (this.#sink?.writtenBytes ?? 0);
    this.#end.reach({ outcome: isAnswered ? 'complete' : 'aborted', bodyBytes });
  }

  onEnd(listener: (end: ExchangeEnd) => void): void {
    this.#end.subscribe((end) => this.context.guard.run('request', () => listener(end)));
  }

  abort(): void {
    this.#isClientGone = true;
    this.#abortController?.abort(this.#abortReason);
  }

  protected abstract writeResponse(response: ApiResponse): void;
  protected abstract readonly isHeadSent: boolean;
  /** Whether the last byte of the response has been sent. */
  protected abstract readonly isAnswered: boolean;

  /** Decodes a header value, which is UTF-8 if it is not ASCII. */
  protected abstract decodeHeaderValue(value: string): string;

  /** Length of the first pieces of a response. */
  protected get beginningBytes(): number {
    return firstPieceBytes;
  }

  protected get isBodyRequested(): boolean {
    return this.#receiving !== undefined;
  }

  protected abstract readonly hasBody: boolean;
  protected abstract readonly isBodyArriving: boolean;
  protected abstract readonly isBodyComplete: boolean;
  protected abstract readonly source: Readable;
  /** Sends 100 Continue to a client that waits for it. */
  protected abstract sendContinue(): void;

  /** From now on the client must keep reading. */
  protected markSending(): void {
    this.#progress.markSending(this.context.nowMs);
  }

  /** For a response that is written at once. Its bytes stay in memory until the request has finished. */
  protected markSent(bytes: number): void {
    this.markSending();
    this.#progress.hold(bytes);
  }

  /** Writes the body after the headers. Never rejects; returns false if the body failed. */
  protected writeBody(writer: BodyWriter, body: ReadyBody | BodySource): Promise<boolean> {
    const budget = new ResponsePieces(this.connection, this.context, this.#progress, this.beginningBytes);
    return this.#write(writer, () => writePieces(writer, body, budget));
  }

  /** Writes a stream after the headers. Never rejects; returns false if the stream failed. */
  protected writeStream(writer: BodyWriter, stream: WriteStream): Promise<boolean> {
    return this.#write(writer, async () => {
      this.#sink = new BodySink(writer, this.signal, this.context.draining);
      await stream(this.#sink);
      // The client must now read what is queued.
      this.markSending();
    });
  }

  async #write(writer: BodyWriter, write: () => Promise<void>): Promise<boolean> {
    try {
      this.#progress.writer = writer;
      await write();
      return true;
    } catch (error) {
      if (this.#isFinished || error instanceof StalledClientError)
        this.context.guard.run('response', () => this.cutOff());
      else
        this.context.guard.reportFailure(
          'response',
          error,
          () => this.cutOff(),
          'writing a response failed',
          describeRequest(this),
        );
      return false;
    }
  }
}

/** Refuses the oldest body. Returns false if none is arriving. */
function refuseOldest(requests: Iterable<OpenRequest>): boolean {
  for (const request of requests) {
    if (!request.isReceiving) continue;
    request.refuseBody('memory');
    return true;
  }
  return false;
}

/** Whether the body is written at once. A client that does not read holds no more memory than by a first piece. */
export const isSmall = (body: ReadyBody | BodySource | undefined): body is ReadyBody | undefined =>
  isReady(body) && (body === undefined || body.length <= firstPieceBytes);

export function describeRequest({ method, target }: Pick<ApiRequest, 'method' | 'target'>): FailedRequest {
  const end = target.indexOf('?');
  return { method, path: end < 0 ? target : target.slice(0, end) };
}

function isTooSlow(receiving: Receiving, nowMs: number): boolean {
  const lateMs = nowMs - receiving.sinceMs - bodyGraceMs;
  return lateMs > 0 && receiving.bytes < (lateMs / 1000) * bodyBytesPerSecondMin;
}
