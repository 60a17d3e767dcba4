import type { Clock, Loop } from '@cluster-apiserver/base';
import type { BodySource, ReadyBody } from '../../body-source.ts';
import type { WriteStream } from '../../exchange.ts';
import type { Connection } from '../connection/connection.ts';
import {
  firstPieceBytes,
  pieceBytes,
  pieceCost,
  readingClientBytesMin,
  responseStallMs,
  slowClientMs,
} from '../limits.ts';
import type { ListenerContext } from '../listener-context.ts';
import type { Backlog } from './open-request.ts';
import { BodySink, type BodyWriter, type PieceBudget, writePieces } from './write-body.ts';

export type ConnectionBytes = Pick<Connection, 'responseBytes' | 'sentResponseBytes' | 'owner'>;
export interface ProcessBytes extends Pick<ListenerContext, 'nowMs' | 'responseBytes' | 'longResponses' | 'draining'> {
  readonly clock: Pick<Clock, 'after'>;
  readonly loop: Pick<Loop, 'turn'>;
}

/**
 * Writes the body of one response, as far as its client reads and memory allows. It knows how far the client has read, and
 * the memory that the unread rest uses. A class, because each object literal with a getter would get a hidden class of its own,
 * which keeps the request in memory (docs/decisions/0055-memory.md).
 */
export class ResponseWriter implements PieceBudget {
  /** The length of the first pieces. */
  beginningBytes = firstPieceBytes;
  readonly #connection: ConnectionBytes;
  readonly #process: ProcessBytes;
  #writer: BodyWriter | undefined;
  #sink: BodySink | undefined;
  /** Bytes of the body that were written, sent or not. */
  #writtenBytes = 0;
  #sentBytes = 0;
  #sendingSinceMs: number | undefined;
  /** The bytes that the socket had not taken at the last sweep. */
  #unwrittenBytes = 0;
  #unwrittenSinceMs: number | undefined;
  #bufferedBytes = 0;
  #isFinished = false;
  /** It is one of the long responses that are being written. */
  #isBeingWritten = false;

  constructor(connection: ConnectionBytes, process: ProcessBytes) {
    this.#connection = connection;
    this.#process = process;
  }

  /** Writes a body after the headers. */
  write(writer: BodyWriter, body: ReadyBody | BodySource): Promise<void> {
    this.#writer = writer;
    return writePieces(writer, body, this);
  }

  /** Writes a stream after the headers. */
  async writeStream(writer: BodyWriter, stream: WriteStream, signal: AbortSignal): Promise<void> {
    this.#writer = writer;
    this.#sink = new BodySink(writer, signal, this.#process.draining);
    await stream(this.#sink);
    // The client must now read what is queued.
    this.markSending();
  }

  get writtenBytes(): number {
    return this.#writtenBytes + (this.#sink?.writtenBytes ?? 0);
  }

  /** Bytes queued by a stream, which no budget counts. */
  get streamBacklogBytes(): number {
    return this.#sink ? this.#unwrittenBytes : 0;
  }

  get backlog(): Backlog | undefined {
    const sinceMs = this.#unwrittenSinceMs ?? (this.#bufferedBytes > 0 ? this.#sendingSinceMs : undefined);
    return sinceMs === undefined ? undefined : { bytes: Math.max(this.#unwrittenBytes, this.#bufferedBytes), sinceMs };
  }

  /** From now on the client must keep reading. */
  markSending(): void {
    this.#sendingSinceMs = this.#process.nowMs;
  }

  sweep(nowMs: number): void {
    if (!this.#writer) return;
    const bytes = this.#writer.writableLength;
    const moved = bytes !== this.#unwrittenBytes;
    this.#unwrittenBytes = bytes;
    if (bytes === 0) this.#unwrittenSinceMs = undefined;
    else if (moved || this.#unwrittenSinceMs === undefined) this.#unwrittenSinceMs = nowMs;
    if (moved && this.#sendingSinceMs !== undefined) this.#sendingSinceMs = nowMs;
  }

  isStalled(nowMs: number): boolean {
    return this.#sendingSinceMs !== undefined && nowMs - this.#sendingSinceMs > responseStallMs;
  }

  /** The request has finished: releases everything. */
  finish(): void {
    this.#isFinished = true;
    this.endLong();
    this.#release(this.#bufferedBytes);
  }

  get pieceBytes(): number {
    return this.isClientReading() ? pieceBytes : this.beginningBytes;
  }

  isClientReading(): boolean {
    // Many streams with tiny windows read much together, while each reads nearly nothing.
    const isNarrow = this.beginningBytes < firstPieceBytes;
    return (isNarrow ? this.#sentBytes : this.#connection.sentResponseBytes) >= readingClientBytesMin;
  }

  isFull(): boolean {
    return this.#connection.responseBytes.isFull || this.#process.responseBytes.isFull;
  }

  /** Others begin meanwhile: a client that leaves its connection full must not hold them up. */
  async waitForSpace(): Promise<void> {
    const wasBeingWritten = this.#isBeingWritten;
    this.endLong();
    await this.#connection.responseBytes.waitForSpace(this.#connection.owner, () => this.#isFinished);
    if (wasBeingWritten) this.#countLong();
  }

  beginLong(): Promise<void> | undefined {
    const { longResponses } = this.#process;
    if (!longResponses.isFull && !longResponses.hasWaiters) return this.#countLong();
    return longResponses.waitForSpace(this.#connection.owner, () => this.#isFinished).then(() => this.#countLong());
  }

  async waitForClient(sent: Promise<void>): Promise<void> {
    const cancel = this.#process.clock.after(slowClientMs, () => this.endLong());
    await sent;
    cancel();
    this.#countLong();
  }

  endLong(): void {
    if (!this.#isBeingWritten) return;
    this.#isBeingWritten = false;
    this.#process.longResponses.release(1);
  }

  #countLong(): undefined {
    if (this.#isBeingWritten || this.#isFinished) return;
    this.#isBeingWritten = true;
    this.#process.longResponses.acquire(1);
  }

  waitForTurn(bytes: number): Promise<void> | undefined {
    const costMs = (bytes + pieceCost.overheadBytes) * pieceCost.msPerByte;
    return this.#process.loop.turn('piece', costMs, this.#connection.owner);
  }

  addBuffered(bytes: number): void {
    this.markSending();
    this.#writtenBytes += bytes;
    if (this.#isFinished) return;
    this.#bufferedBytes += bytes;
    this.#connection.responseBytes.acquire(bytes);
  }

  addSent(bytes: number): void {
    this.#sentBytes += bytes;
    this.#connection.sentResponseBytes += bytes;
    this.#release(bytes);
  }

  /** After the request has finished, everything has been released. */
  #release(bytes: number): void {
    const released = Math.min(bytes, this.#bufferedBytes);
    if (released === 0) return;
    this.#bufferedBytes -= released;
    this.#connection.responseBytes.release(released);
  }
}
