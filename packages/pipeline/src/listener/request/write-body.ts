import { onAbort } from '@cluster-apiserver/base';
import { type SizedBody, type ChunkedBody, isSized, type Allocate, type Sink } from '../../exchange.ts';
import { pieceBytes, freeBuffersMax } from '../limits.ts';

/** The common interface of HTTP/1.1 responses and HTTP/2 streams after their headers. */
export interface BodyWriter {
  write(bytes: Buffer, sent?: (error?: Error | null) => void): boolean;
  end(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
  readonly writableLength: number;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
}

/** The memory and time for pieces of this response. */
export interface PieceBudget {
  /** Length of the next piece: small until the client has read response bytes on this connection. */
  readonly pieceBytes: number;
  /** Whether the client has read response bytes on this connection. */
  isClientReading(): boolean;
  isFull(): boolean;
  /** Resolves when memory is available, or when the response has ended. */
  waitForSpace(): Promise<void>;
  /** Resolves in the iteration of the event loop that has time for the piece; undefined if it is this one. */
  waitForTurn(bytes: number): Promise<void> | undefined;
  /** A piece was created and is in memory. */
  addBuffered(bytes: number): void;
  /** The kernel has taken the piece, or it is lost. */
  addSent(bytes: number): void;
}

/**
 * Writes a body piece by piece, each after the previous one has been sent, so that a long list does not block other
 * requests. Pieces are small until the client has read some. Each waits for memory, and for its turn among the pieces of
 * all responses.
 */
export async function writePieces(
  writer: BodyWriter,
  body: SizedBody | ChunkedBody,
  budget: PieceBudget,
): Promise<void> {
  const pieces = new PieceWriter(writer, budget);
  if (!isSized(body)) {
    if (budget.isFull()) await budget.waitForSpace();
    if (writer.destroyed) return;
    for await (const piece of body.chunks()) {
      const written = pieces.write(piece);
      if (written) await written;
      if (budget.isFull()) await budget.waitForSpace();
      if (writer.destroyed) return;
    }
    return;
  }
  let leftBytes = body.length;
  // The first piece is written in the same step as the head of the response, which has its own limit of time.
  if (budget.isFull()) await budget.waitForSpace();
  // The client may have disconnected while the response waited.
  if (writer.destroyed) return;
  for (const piece of splitIntoPieces(body, pieces.allocate)) {
    const written = pieces.write(piece);
    if (written) await written;
    leftBytes -= piece.length;
    if (writer.destroyed || leftBytes === 0) return;
    const next = waitForPiece(budget);
    if (next) await next;
    if (writer.destroyed) return;
  }
}

/**
 * A piece is made and written in one step, so that the time of both counts, when its turn has come and there is memory:
 * in this order, since a turn of many pieces may use all the memory.
 */
function waitForPiece(budget: PieceBudget): Promise<void> | undefined {
  const turn = budget.waitForTurn(budget.pieceBytes);
  if (!turn) return budget.isFull() ? budget.waitForSpace() : undefined;
  return turn.then(() => (budget.isFull() ? budget.waitForSpace() : undefined));
}

class PieceWriter {
  readonly #writer: BodyWriter;
  readonly #budget: PieceBudget;
  #lentBuffer: Buffer | undefined;
  #writtenBytes = 0;
  #leftBytes = 0;
  #wake = (): void => {};

  constructor(writer: BodyWriter, budget: PieceBudget) {
    this.#writer = writer;
    this.#budget = budget;
  }

  readonly allocate: Allocate = (bytes) => {
    const wantedBytes = Math.min(bytes, this.#budget.pieceBytes);
    this.#lentBuffer =
      wantedBytes < lentBufferBytesMin ? undefined : (freeBuffers.pop() ?? Buffer.allocUnsafeSlow(pieceBytes));
    return this.#lentBuffer ? this.#lentBuffer.subarray(0, wantedBytes) : Buffer.allocUnsafe(wantedBytes);
  };

  /** Resolves when the next piece may follow; undefined if that is now. */
  write(piece: Buffer): Promise<void> | undefined {
    const whole = this.#lentBuffer;
    this.#lentBuffer = undefined;
    if (piece.length > this.#budget.pieceBytes) return this.#writeParts(piece, whole);
    return this.#writePart(piece, whole);
  }

  /** Pieces that do not use allocated buffers have any size. */
  async #writeParts(piece: Buffer, whole: Buffer | undefined): Promise<void> {
    for (let from = 0; from < piece.length && !this.#writer.destroyed; ) {
      if (from > 0 && this.#budget.isFull()) await this.#budget.waitForSpace();
      const part = piece.subarray(from, from + this.#budget.pieceBytes);
      from += part.length;
      await this.#writePart(part, from >= piece.length ? whole : undefined);
    }
  }

  /** `whole` can be reused when the part has been sent. */
  #writePart(part: Buffer, whole: Buffer | undefined): Promise<void> | undefined {
    const budget = this.#budget;
    budget.addBuffered(part.length);
    this.#writtenBytes += part.length;
    const flows = this.#writer.write(part, (error) => {
      this.#leftBytes += part.length;
      budget.addSent(part.length);
      if (whole && !error) recycleBuffer(whole);
      this.#wake();
    });
    if (budget.isClientReading()) return flows ? undefined : waitForDrain(this.#writer);
    // It is unknown yet whether this client reads.
    return waitForDrain(this.#writer, (resolve) => {
      this.#wake = (): void => {
        if (this.#leftBytes === this.#writtenBytes) resolve();
      };
      this.#wake();
    });
  }
}

/**
 * Buffers for pieces are reused. With new buffers, half the time of a long list was spent on page faults and garbage
 * collection.
 */
const freeBuffers: Buffer[] = [];
/** Smaller pieces are the first or last of a body and not worth a full buffer. */
const lentBufferBytesMin = 32 * 1024;

/** Not after an error: the socket may still reference it. */
function recycleBuffer(buffer: Buffer): void {
  if (freeBuffers.length < freeBuffersMax) freeBuffers.push(buffer);
}

/** Splits a body into pieces. Each is valid until `allocate` returns its memory again. */
export function splitIntoPieces(bytes: SizedBody, allocate: Allocate): Iterable<Buffer> {
  if (typeof bytes === 'string') return sliceBuffer(Buffer.from(bytes, 'latin1'));
  return Buffer.isBuffer(bytes) ? sliceBuffer(bytes) : bytes.pieces(pieceBytes, allocate);
}

function* sliceBuffer(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes);
}

/** Resolves when the writer drains, or when `onProgress` calls back instead; and when it closes. */
function waitForDrain(writer: BodyWriter, onProgress?: (resolve: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      writer.off('drain', done);
      writer.off('close', done);
      resolve();
    };
    if (!onProgress) writer.on('drain', done);
    writer.on('close', done);
    if (writer.destroyed) done();
    else onProgress?.(done);
  });
}

/** The sink of one watch. It is small, since there may be thousands of idle watches. */
export class BodySink implements Sink {
  readonly signal: AbortSignal;
  readonly draining: AbortSignal;
  readonly #writer: BodyWriter;
  /** Node emits 'drain' only after a write above the high-water mark, but drained() promises an empty backlog. */
  #unsent = 0;
  #writtenBytes = 0;
  #waiting: (() => void)[] = [];
  readonly #sent = (): void => {
    this.#unsent -= 1;
    if (this.#unsent === 0) this.#wake();
  };

  constructor(writer: BodyWriter, signal: AbortSignal, draining: AbortSignal) {
    this.#writer = writer;
    this.signal = signal;
    this.draining = draining;
    onAbort(signal, () => this.#wake());
  }

  get backlogBytes(): number {
    return this.#writer.writableLength;
  }

  /** Bytes written so far, sent or not. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  write(bytes: Buffer): void {
    if (this.#writer.destroyed || this.#writer.writableEnded) return;
    this.#unsent += 1;
    this.#writtenBytes += bytes.length;
    this.#writer.write(bytes, this.#sent);
  }

  drained(): Promise<void> {
    if (this.#unsent === 0 || this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    const woken = this.#waiting;
    this.#waiting = [];
    for (const resolve of woken) resolve();
  }
}
