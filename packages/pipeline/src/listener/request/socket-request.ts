import type { Readable } from 'node:stream';
import { invariant } from '@cluster-apiserver/base';
import {
  type ApiRequest,
  type ApiResponse,
  BodyMemoryError,
  BodyTooLargeError,
  BodyTooSlowError,
  type SizedBody,
  ClientGoneError,
  type ExchangeEnd,
  StalledClientError,
  type StreamBody,
} from '../../exchange.ts';
import type { Connection } from '../connection/connection.ts';
import type { ListenerContext } from '../listener-context.ts';
import type { FailedRequest } from '../callback-guard.ts';
import {
  responseStallMs,
  bodyBytesPerSecondMin,
  bodyGraceMs,
  firstPieceBytes,
  readingClientBytesMin,
} from '../limits.ts';
import type { CutOffResponse, RefusedBody } from '../measures.ts';
import { type BodyWriter, BodySink, type PieceMemory, writePieces } from './write-body.ts';
import { createRefusal } from './refusal.ts';
import { type Receiving, readBody } from './read-body.ts';

const emptyBody = Buffer.alloc(0);

/** One for all: a connection may end with a hundred requests open, and a stack costs more than the rest of the end. */
const clientLeft = new ClientGoneError('the client left');

/**
 * One request from a socket until its answer has left. It keeps references to Node's objects and looks only at what it
 * is asked for: no URL is parsed, no header copied, no timer set and no signal made for a request that needs none.
 */
export abstract class SocketRequest implements ApiRequest {
  abstract readonly method: string;
  abstract readonly target: string;
  abstract readonly protocol: ApiRequest['protocol'];
  /** Names and values in turn, as Node's parsers give them. */
  abstract readonly rawHeaders: readonly string[];

  readonly connection: Connection;
  protected readonly context: ListenerContext;
  #receiving: Receiving | undefined;
  #abortController: AbortController | undefined;
  #isClientGone = false;
  #isFinished = false;
  #sendingSinceMs: number | undefined;
  #onEnd: ((end: ExchangeEnd) => void)[] | undefined;
  /** Where the body of the response goes, once it does. */
  #bodyWriter: BodyWriter | undefined;
  #sink: BodySink | undefined;
  #backlogBytes = 0;
  #backlogSinceMs: number | undefined;
  /** Of the request's body and of the response's, what is in memory. */
  #bufferedRequestBytes = 0;
  #bufferedResponseBytes = 0;
  /** Counted by whoever writes the body. */
  protected bodyBytes = 0;

  constructor(connection: Connection, context: ListenerContext) {
    this.connection = connection;
    this.context = context;
  }

  get remoteAddress(): string {
    return this.connection.remoteAddress;
  }

  get clientCertificates(): readonly Buffer[] {
    return this.connection.clientCertificates;
  }

  header(name: string): string | undefined {
    const raw = this.rawHeaders;
    for (let i = 0; i < raw.length; i += 2)
      if (isNamed(raw[i] as string, name)) return this.decodeHeaderValue(raw[i + 1] as string);
    return undefined;
  }

  headerLines(name: string): readonly string[] {
    const lines: string[] = [];
    const raw = this.rawHeaders;
    for (let i = 0; i < raw.length; i += 2)
      if (isNamed(raw[i] as string, name)) lines.push(this.decodeHeaderValue(raw[i + 1] as string));
    return lines;
  }

  headersFrom(prefix: string): readonly (readonly [name: string, value: string])[] {
    const found: [string, string][] = [];
    const raw = this.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      const name = raw[i] as string;
      // Nearly every header differs in its first letter, and then costs nothing more.
      if ((name.charCodeAt(0) | 0x20) !== prefix.charCodeAt(0)) continue;
      const lower = name.toLowerCase();
      if (lower.startsWith(prefix)) found.push([lower, this.decodeHeaderValue(raw[i + 1] as string)]);
    }
    return found;
  }

  get isWebSocket(): boolean {
    return false;
  }

  body(limitBytes: number): Promise<Buffer> {
    invariant(!this.#receiving, 'a body is read once, and its bytes would be missing the second time');
    if (!this.hasBody) return Promise.resolve(emptyBody);
    if (this.#isFinished) return Promise.reject(clientLeft);
    const declared = this.header('content-length');
    if (declared !== undefined && Number(declared) > limitBytes)
      return Promise.reject(new BodyTooLargeError(limitBytes));
    this.sendContinue();
    const { body, receiving } = readBody(
      this.source,
      () => this.isBodyComplete,
      limitBytes,
      this.context.nowMs,
      (bytes) => this.#countReceived(bytes),
    );
    this.#receiving = receiving;
    this.context.receiving.add(this);
    return body;
  }

  get isAborted(): boolean {
    return this.#isClientGone;
  }

  /**
   * Counts a piece of the body. Does not throw: Node calls it back. Where memory for bodies is exhausted, the body that has taken longest is given up: an
   * honest one is here within a moment, and one that trickles is in nobody's way.
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

  /** Gives up the body, and gives its memory back. */
  refuseBody(reason: RefusedBody): void {
    const { guard, measures } = this.context;
    guard.run('request', () => measures.bodyRefused(reason));
    this.#receiving?.fail(
      reason === 'slow'
        ? new BodyTooSlowError(`fewer than ${bodyBytesPerSecondMin} bytes of the body came per second`)
        : new BodyMemoryError('memory for request bodies is exhausted'),
    );
    this.#releaseBody();
  }

  #releaseBody(): void {
    this.context.receiving.delete(this);
    this.connection.bodyBytes.release(this.#bufferedRequestBytes);
    this.#bufferedRequestBytes = 0;
  }

  get signal(): AbortSignal {
    if (!this.#abortController) {
      this.#abortController = new AbortController();
      if (this.#isFinished || this.#isClientGone) this.#abortController.abort(clientLeft);
    }
    return this.#abortController.signal;
  }

  /** Sends the answer, or a 500 in its place. Nothing here throws: whoever called has no way left to tell the client. */
  respond(response: ApiResponse): void {
    try {
      this.writeResponse(response);
    } catch (error) {
      this.context.guard.reportFailure('response', error, () => this.#respondFailure());
    }
  }

  #respondFailure(): void {
    try {
      if (!this.isHeadSent) return this.writeResponse(createRefusal(500, 'the answer could not be written'));
    } catch {
      // What follows is all that is left.
    }
    this.cutOff();
  }

  /** Ends the connection or stream without a word, so that the client cannot take a part for the whole. */
  abstract cutOff(): void;

  /** Whether nobody is there to take an answer. */
  abstract readonly isDisconnected: boolean;

  /** What the sweep ends this request for, if anything. */
  sweep(nowMs: number): void {
    const receiving = this.#receiving;
    if (receiving && this.isReceiving && isTooSlow(receiving, nowMs)) this.refuseBody('slow');
    this.#updateBacklog(nowMs);
    if (this.#sendingSinceMs !== undefined && nowMs - this.#sendingSinceMs > responseStallMs)
      this.abandonResponse('stalled');
  }

  /** What the client has not taken, and since when none of it has moved. */
  get backlog(): Backlog | undefined {
    const sinceMs = this.#backlogSinceMs ?? (this.#bufferedResponseBytes > 0 ? this.#sendingSinceMs : undefined);
    return sinceMs === undefined
      ? undefined
      : { bytes: Math.max(this.#backlogBytes, this.#bufferedResponseBytes), sinceMs };
  }

  /** Bytes that a stream has queued, which no budget counts. */
  get streamBacklogBytes(): number {
    return this.#sink ? this.#backlogBytes : 0;
  }

  abandonResponse(reason: CutOffResponse): void {
    const { guard, measures } = this.context;
    guard.run('response', () => measures.responseCutOff(reason));
    this.cutOff();
  }

  #updateBacklog(nowMs: number): void {
    if (!this.#bodyWriter) return;
    const bytes = this.#bodyWriter.writableLength;
    const moved = bytes !== this.#backlogBytes;
    this.#backlogBytes = bytes;
    if (bytes === 0) this.#backlogSinceMs = undefined;
    else if (moved || this.#backlogSinceMs === undefined) this.#backlogSinceMs = nowMs;
    if (moved && this.#sendingSinceMs !== undefined) this.#sendingSinceMs = nowMs;
  }

  /** The socket or stream is done with this request, answered or not. */
  finish(): void {
    if (this.#isFinished) return;
    const answered = this.isAnswered;
    this.#isFinished = true;
    this.#releaseBody();
    this.#release(this.#bufferedResponseBytes);
    if (!answered) this.abort();
    this.#reportEnd(answered);
  }

  onEnd(listener: (end: ExchangeEnd) => void): void {
    (this.#onEnd ??= []).push(listener);
  }

  #reportEnd(answered: boolean): void {
    if (!this.#onEnd) return;
    const bodyBytes = this.bodyBytes + (this.#sink?.writtenBytes ?? 0);
    const end: ExchangeEnd = { outcome: answered ? 'complete' : 'aborted', bodyBytes };
    for (const listener of this.#onEnd) this.context.guard.run('request', () => listener(end));
  }

  abort(): void {
    this.#isClientGone = true;
    this.#abortController?.abort(clientLeft);
  }

  protected abstract writeResponse(response: ApiResponse): void;
  protected abstract readonly isHeadSent: boolean;
  /** Whether the last byte of the answer has left. */
  protected abstract readonly isAnswered: boolean;

  /** The value of a header as the client meant it, which is UTF-8 if it is more than ASCII. */
  protected abstract decodeHeaderValue(value: string): string;

  protected get isBodyRequested(): boolean {
    return this.#receiving !== undefined;
  }

  protected abstract readonly hasBody: boolean;
  protected abstract readonly isBodyArriving: boolean;
  protected abstract readonly isBodyComplete: boolean;
  protected abstract readonly source: Readable;
  /** Tells a client that waits for it (`Expect: 100-continue`) to send the body. */
  protected abstract sendContinue(): void;

  /** From here on the answer must keep moving. */
  protected markSending(): void {
    this.#sendingSinceMs = this.context.nowMs;
  }

  /** An answer that is handed over in one piece. Its bytes are in memory until the request is closed. */
  protected markSent(bytes: number): void {
    this.markSending();
    this.bodyBytes = bytes;
    this.#hold(bytes);
  }

  /** Writes the body of an answer whose headers have been written. Never rejects; false if the body broke off. */
  protected async writeBody(writer: BodyWriter, body: Exclude<ApiResponse['body'], undefined>): Promise<boolean> {
    try {
      this.#bodyWriter = writer;
      if (isStreaming(body)) {
        this.#sink = new BodySink(writer, this.signal, this.context.draining);
        await body.stream(this.#sink);
        // What it has queued must leave now.
        this.markSending();
      } else await writePieces(writer, body, this.#pieceMemory());
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

  #pieceMemory(): PieceMemory {
    const isGone = (): boolean => this.#isFinished;
    const { connection } = this;
    return {
      isClientReading: () => connection.sentResponseBytes >= readingClientBytesMin,
      waitForSpace: () => this.connection.responseBytes.waitForSpace(isGone),
      isFull: () => this.connection.responseBytes.isFull || this.context.responseBytes.isFull,
      written: (bytes) => {
        this.bodyBytes += bytes;
        this.#hold(bytes);
        this.markSending();
      },
      left: (bytes) => {
        connection.sentResponseBytes += bytes;
        this.#release(bytes);
      },
    };
  }

  #hold(bytes: number): void {
    if (this.#isFinished) return;
    this.#bufferedResponseBytes += bytes;
    this.connection.responseBytes.acquire(bytes);
  }

  /** Once closed, all of it has been released. */
  #release(bytes: number): void {
    const released = Math.min(bytes, this.#bufferedResponseBytes);
    if (released === 0) return;
    this.#bufferedResponseBytes -= released;
    this.connection.responseBytes.release(released);
  }
}

/** Response bytes in memory, and since when none of them has moved. */
export interface Backlog {
  readonly bytes: number;
  readonly sinceMs: number;
}

/** Gives up the body that has taken longest. False if none is on its way. */
function refuseOldest(requests: Iterable<SocketRequest>): boolean {
  for (const request of requests) {
    if (!request.isReceiving) continue;
    request.refuseBody('memory');
    return true;
  }
  return false;
}

/** Bytes that leave at once: a client that does not take them holds no more memory than by a first piece. */
export const isSmall = (bytes: SizedBody): bytes is string | Buffer =>
  (typeof bytes === 'string' || Buffer.isBuffer(bytes)) && bytes.length <= firstPieceBytes;

export const isStreaming = (body: ApiResponse['body']): body is StreamBody =>
  typeof body === 'object' && 'stream' in body;

export function describeRequest({ method, target }: Pick<ApiRequest, 'method' | 'target'>): FailedRequest {
  const end = target.indexOf('?');
  return { method, path: end < 0 ? target : target.slice(0, end) };
}

function isNamed(raw: string, name: string): boolean {
  return raw.length === name.length && (raw === name || raw.toLowerCase() === name);
}

function isTooSlow(receiving: Receiving, nowMs: number): boolean {
  const lateMs = nowMs - receiving.sinceMs - bodyGraceMs;
  return lateMs > 0 && receiving.bytes < (lateMs / 1000) * bodyBytesPerSecondMin;
}
