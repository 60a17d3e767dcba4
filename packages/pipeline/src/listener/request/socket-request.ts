import { End, invariant } from '@cluster-apiserver/base';
import type { StatusError } from '@cluster-apiserver/model';
import {
  type ApiRequest,
  type ApiResponse,
  BodyTooLargeError,
  ClientGoneError,
  type ExchangeEnd,
  StalledClientError,
  type WriteStream,
} from '../../exchange.ts';
import { type BodySource, isReady, type ReadyBody } from '../../body-source.ts';
import type { Connection } from '../connection/connection.ts';
import type { ListenerContext } from '../listener-context.ts';
import type { FailedRequest } from '../callback-guard.ts';
import { firstPieceBytes, headerLinesMax } from '../limits.ts';
import type { CutOffResponse, RefusedBody } from '../measures.ts';
import type { BodyWriter } from './write-body.ts';
import { findHeader, findHeaderLines, findHeadersFrom, findRepeatedHeader } from './headers.ts';
import { createRefusal, refusalResponse } from './refusal.ts';
import { type BodyOrigin, RequestBody } from './request-body.ts';
import { ResponseWriter } from './response-writer.ts';
import type { Backlog } from './open-request.ts';

const emptyBody = Buffer.alloc(0);
const slash = 0x2f;

/**
 * A single instance: a connection may end with a hundred open requests, and each stack trace costs more than the rest.
 */
const clientLeft = new ClientGoneError('the client left');
const clientStalled = new StalledClientError('the client stopped reading');

/**
 * One request on a socket, until its response has been sent: who it is of, whether its client is still there, and how it
 * ends. It keeps references to Node's objects and computes only what is used: no URL is parsed, no header copied, no timer
 * or signal created unless needed.
 */
export abstract class SocketRequest implements ApiRequest, BodyOrigin {
  abstract readonly method: string;
  abstract readonly target: string;
  abstract readonly protocol: ApiRequest['protocol'];
  /** Names and values alternate, as in Node's `rawHeaders`. */
  abstract readonly rawHeaders: readonly string[];

  refusal: StatusError | undefined;
  readonly connection: Connection;
  protected readonly context: ListenerContext;
  #body: RequestBody | undefined;
  #abortController: AbortController | undefined;
  #isClientGone = false;
  /** The reason of the signal if it aborts. */
  #abortReason: ClientGoneError = clientLeft;
  #isFinished = false;
  readonly #end = new End<ExchangeEnd>();
  readonly #writer: ResponseWriter;

  constructor(connection: Connection, context: ListenerContext) {
    this.connection = connection;
    this.context = context;
    this.#writer = new ResponseWriter(connection, context);
  }

  get remoteAddress(): string {
    return this.connection.remoteAddress;
  }

  get clientCertificates(): readonly Buffer[] {
    return this.connection.clientCertificates;
  }

  takeTurnsAs(user: string): void {
    this.connection.owner = user;
  }

  header(name: string): string | undefined {
    const value = findHeader(this.rawHeaders, name);
    return value === undefined ? undefined : this.decodeHeaderValue(value);
  }

  headerLines(name: string): readonly string[] {
    const lines = findHeaderLines(this.rawHeaders, name);
    return lines.length === 0 ? lines : lines.map((value) => this.decodeHeaderValue(value));
  }

  headersFrom(prefix: string): readonly (readonly [name: string, value: string])[] {
    const found = findHeadersFrom(this.rawHeaders, prefix);
    return found.length === 0 ? found : found.map(([name, value]) => [name, this.decodeHeaderValue(value)]);
  }

  get isWebSocket(): boolean {
    return false;
  }

  body(limitBytes: number): Buffer | Promise<Buffer> {
    invariant(!this.#body, 'the body of a request can only be read once');
    if (!this.hasBody) return emptyBody;
    if (this.#isFinished) return Promise.reject(clientLeft);
    const declared = this.header('content-length');
    if (declared !== undefined && Number(declared) > limitBytes)
      return Promise.reject(new BodyTooLargeError(limitBytes));
    this.sendContinue();
    this.#body = new RequestBody(this, this.connection, this.context);
    return this.#body.receive(limitBytes);
  }

  /** Why the request must not be handled, if it must not. */
  findRefusal(): StatusError | undefined {
    const own = this.findOwnRefusal();
    if (own) return own;
    if (this.target.charCodeAt(0) !== slash) return createRefusal(400, 'the request target must be a path');
    if (this.rawHeaders.length > headerLinesMax * 2) return createRefusal(431, `more than ${headerLinesMax} headers`);
    const repeated = findRepeatedHeader(this.rawHeaders);
    return repeated === undefined ? undefined : createRefusal(400, `more than one ${repeated} header`);
  }

  /** The refusals of its protocol. */
  protected abstract findOwnRefusal(): StatusError | undefined;

  get isAborted(): boolean {
    return this.#isClientGone;
  }

  get isReceiving(): boolean {
    return this.#body?.isReceiving ?? false;
  }

  refuseBody(reason: RefusedBody): void {
    this.#body?.refuse(reason);
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
    if (this.#body?.isTooSlow(nowMs)) this.refuseBody('slow');
    this.#writer.sweep(nowMs);
    if (this.#writer.isStalled(nowMs)) this.abandonResponse('stalled');
  }

  get backlog(): Backlog | undefined {
    return this.#writer.backlog;
  }

  get streamBacklogBytes(): number {
    return this.#writer.streamBacklogBytes;
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
    this.#body?.release();
    this.#writer.finish();
    if (!isAnswered) this.abort();
    this.#end.reach({ outcome: isAnswered ? 'complete' : 'aborted', bodyBytes: this.#writer.writtenBytes });
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
    return this.#body !== undefined;
  }

  protected abstract readonly hasBody: boolean;
  abstract readonly isBodyArriving: boolean;
  abstract readonly isBodyComplete: boolean;
  abstract readonly source: BodyOrigin['source'];
  /** Sends 100 Continue to a client that waits for it. */
  protected abstract sendContinue(): void;

  /** From now on the client must keep reading. */
  protected markSending(): void {
    this.#writer.markSending();
  }

  /** For a response that is written at once. Its bytes stay in memory until the request has finished. */
  protected markSent(bytes: number): void {
    this.#writer.addBuffered(bytes);
  }

  /** Writes the body after the headers. Never rejects; returns false if the body failed. */
  protected writeBody(writer: BodyWriter, body: ReadyBody | BodySource): Promise<boolean> {
    this.#writer.beginningBytes = this.beginningBytes;
    return this.#succeeds(() => this.#writer.write(writer, body));
  }

  /** Writes a stream after the headers. Never rejects; returns false if the stream failed. */
  protected writeStream(writer: BodyWriter, stream: WriteStream): Promise<boolean> {
    return this.#succeeds(() => this.#writer.writeStream(writer, stream, this.signal));
  }

  async #succeeds(write: () => Promise<void>): Promise<boolean> {
    try {
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

/** Whether the body is written at once. A client that does not read holds no more memory than by a first piece. */
export const isSmall = (body: ReadyBody | BodySource | undefined): body is ReadyBody | undefined =>
  isReady(body) && (body === undefined || body.length <= firstPieceBytes);

export function describeRequest({ method, target }: Pick<ApiRequest, 'method' | 'target'>): FailedRequest {
  const end = target.indexOf('?');
  return { method, path: end < 0 ? target : target.slice(0, end) };
}
