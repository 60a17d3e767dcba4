import type { Readable } from 'node:stream';
import type { ListEntry } from '@cluster-apiserver/base';
import { BodyMemoryError, BodyTooLargeError, BodyTooSlowError, ClientGoneError } from '../../exchange.ts';
import { joinBuffers } from '../../body-source.ts';
import type { Connection } from '../connection/connection.ts';
import { bodyBytesPerSecondMin, bodyGraceMs } from '../limits.ts';
import type { ListenerContext } from '../listener-context.ts';
import type { RefusedBody } from '../measures.ts';
import type { OpenRequest } from './open-request.ts';

/** What a protocol knows of the body of a request. */
export interface BodyOrigin extends OpenRequest {
  readonly source: Readable;
  readonly isBodyArriving: boolean;
  /** Distinguishes the end of a body from a reset stream, which Node ends the same way. */
  readonly isBodyComplete: boolean;
  /** Ends the connection or stream. */
  cutOff(): void;
}

/**
 * A single instance: a connection may end with a hundred arriving bodies, and each stack trace costs more than the
 * rest.
 */
const clientLeft = new ClientGoneError('the client left before its request was complete');

/** The body of a request, whose bytes count for its connection until the request has finished. */
export class RequestBody {
  readonly #origin: BodyOrigin;
  readonly #connection: Connection;
  readonly #context: ListenerContext;
  readonly #sinceMs: number;
  readonly #pieces: Buffer[] = [];
  #bytes = 0;
  /** Bytes that count for the connection. */
  #heldBytes = 0;
  /** It is complete, or was aborted or refused. */
  #isOver = false;
  /** The place among all arriving bodies. */
  #arriving: ListEntry<OpenRequest> | undefined;
  #reject: (error: Error) => void = () => {};

  constructor(origin: BodyOrigin, connection: Connection, context: ListenerContext) {
    this.#origin = origin;
    this.#connection = connection;
    this.#context = context;
    this.#sinceMs = context.nowMs;
  }

  /** Not a promise if it has arrived with its request, as most bodies do over HTTP/1.1. */
  receive(limitBytes: number): Buffer | Promise<Buffer> {
    const { source, isBodyArriving } = this.#origin;
    if (isBodyArriving) this.#arriving = this.#context.receiving.add(this.#origin);
    else if (source.readableLength > 0 && source.readableLength <= limitBytes) {
      const bytes = readBuffered(source);
      if (bytes !== undefined) {
        this.#isOver = true;
        this.#count(bytes.length);
        return bytes;
      }
    }
    return this.#receiveLater(source, limitBytes);
  }

  #receiveLater(source: Readable, limitBytes: number): Promise<Buffer> {
    const body = new Promise<Buffer>((resolve, reject) => {
      const take = (piece: Buffer): void => {
        this.#bytes += piece.length;
        if (this.#bytes > limitBytes) return this.#reject(new BodyTooLargeError(limitBytes));
        this.#pieces.push(piece);
        this.#count(piece.length);
      };
      const abort = (): void => {
        this.#isOver = true;
        reject(clientLeft);
      };
      this.#reject = (error) => {
        this.#isOver = true;
        source.off('data', take);
        source.pause();
        this.#pieces.length = 0;
        reject(error);
      };
      let ended = false;
      const end = (): void => {
        ended = true;
        if (!this.#origin.isBodyComplete) return abort();
        this.#isOver = true;
        resolve(joinBuffers(this.#pieces, this.#bytes));
      };
      source.on('data', take);
      source.on('end', end);
      source.on('error', abort);
      source.on('close', () => {
        // Most bodies emit 'close' after 'end'.
        if (!ended) abort();
      });
      // Over HTTP/2 an empty body may have ended before this listener was added.
      if (source.readableEnded) end();
      else if (source.destroyed) abort();
    });
    // If the handler fails before it awaits the body, the rejection must not end the process.
    body.catch(() => {});
    return body;
  }

  /**
   * Counts a piece in the callback of the socket; does not throw. If memory for bodies is exhausted, the oldest body is
   * refused: fast ones arrive within a moment.
   */
  #count(bytes: number): void {
    const [connection, context] = [this.#connection, this.#context];
    try {
      this.#heldBytes += bytes;
      connection.bodyBytes.acquire(bytes);
      while (connection.bodyBytes.isFull && refuseOldest(connection.requests));
      while (context.bodyBytes.isFull && refuseOldest(context.receiving));
    } catch (error) {
      context.guard.reportFailure('request', error, () => this.#origin.cutOff());
    }
  }

  get isReceiving(): boolean {
    return !this.#isOver && this.#origin.isBodyArriving;
  }

  isTooSlow(nowMs: number): boolean {
    const lateMs = nowMs - this.#sinceMs - bodyGraceMs;
    return this.isReceiving && lateMs > 0 && this.#bytes < (lateMs / 1000) * bodyBytesPerSecondMin;
  }

  /** Stops reading and releases the memory. */
  refuse(reason: RefusedBody): void {
    const { guard, measures } = this.#context;
    guard.run('request', () => measures.countRefusedBody(reason));
    this.#reject(
      reason === 'slow'
        ? new BodyTooSlowError(`the body arrived at less than ${bodyBytesPerSecondMin} bytes per second`)
        : new BodyMemoryError('memory for request bodies is exhausted'),
    );
    this.release();
  }

  release(): void {
    if (this.#arriving) this.#context.receiving.delete(this.#arriving);
    this.#arriving = undefined;
    this.#connection.bodyBytes.release(this.#heldBytes);
    this.#heldBytes = 0;
  }
}

/** All bytes that have arrived: one call of `read` returns them joined in Node 24, and those of one record of TLS in Node 26. */
function readBuffered(source: Readable): Buffer | undefined {
  const bytes = source.readableLength;
  const first: unknown = source.read();
  if (!Buffer.isBuffer(first)) return undefined;
  if (first.length === bytes) return first;
  const pieces = [first];
  for (let piece: unknown = source.read(); Buffer.isBuffer(piece); piece = source.read()) pieces.push(piece);
  return joinBuffers(pieces, bytes);
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
