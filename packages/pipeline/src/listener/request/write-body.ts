import { onAbort } from '@cluster-apiserver/base';
import { type Allocate, type BodySource, isReady, type ReadyBody, ReadyBodySource } from '../../body-source.ts';
import type { Sink } from '../../exchange.ts';
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
  /** Resolves when a body of several pieces may begin; undefined if that is now. */
  beginLong(): Promise<void> | undefined;
  /** Resolves with `sent`. If that takes long, other long bodies begin meanwhile. */
  waitForClient(sent: Promise<void>): Promise<void>;
  /** All pieces have been written. */
  endLong(): void;
  /** A piece was created and is in memory. */
  addBuffered(bytes: number): void;
  /** The kernel has taken the piece, or it is lost. */
  addSent(bytes: number): void;
}

/**
 * Writes a body piece by piece, each after the previous one has been sent, so that a long list does not block other
 * requests. Pieces are small until the client has read some. Each waits for memory, and for its turn among the pieces of
 * all responses. A long response begins when those before it have nearly ended.
 */
export async function writePieces(
  writer: BodyWriter,
  body: ReadyBody | BodySource,
  budget: PieceBudget,
): Promise<void> {
  const source = isReady(body) ? new ReadyBodySource(body) : body;
  const pieces = new PieceWriter(writer, budget);
  let leftBytes = source.length ?? Number.POSITIVE_INFINITY;
  /** The rest of a piece that was too long. */
  let rest: Buffer | undefined;
  const isLong = source.length !== undefined && source.length > pieceBytes;
  try {
    const turn = isLong ? budget.beginLong() : undefined;
    if (turn) await turn;
    // The first piece is written in the same step as the head of the response, which has its own limit of time.
    if (budget.isFull()) await budget.waitForSpace();
    // The client may have disconnected while the response waited.
    while (!writer.destroyed && leftBytes > 0) {
      const made = rest ?? source.next(budget.pieceBytes, pieces.allocate);
      const piece = made instanceof Promise ? await made : made;
      if (!piece || writer.destroyed) return;
      const part = piece.subarray(0, budget.pieceBytes);
      rest = part.length < piece.length ? piece.subarray(part.length) : undefined;
      leftBytes -= part.length;
      const written = pieces.write(part);
      if (written) await (isLong ? budget.waitForClient(written) : written);
      if (writer.destroyed || leftBytes === 0) return;
      // What is generated in slices has waited for its turn there.
      const isMadeNext = source.length !== undefined;
      const next = isMadeNext ? waitForPiece(budget) : budget.isFull() ? budget.waitForSpace() : undefined;
      if (next) await next;
    }
  } finally {
    source.close();
    budget.endLong();
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
  write(part: Buffer): Promise<void> | undefined {
    // It can be reused when the part has been sent.
    const whole = this.#lentBuffer;
    this.#lentBuffer = undefined;
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
