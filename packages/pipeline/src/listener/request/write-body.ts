import { type SizedBody, type ChunkedBody, isSized, type Allocate, type Sink } from '../../exchange.ts';
import { firstPieceBytes, pieceBytes, freeBuffersMax } from '../limits.ts';

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

/** The memory budget for pieces of this response. */
export interface PieceMemory {
  /** Whether the client has read response bytes on this connection. */
  isClientReading(): boolean;
  isFull(): boolean;
  /** Resolves when memory is available, or when the response has ended. */
  waitForSpace(): Promise<void>;
  /** A piece was created and is in memory. */
  addBuffered(bytes: number): void;
  /** The kernel has taken the piece, or it is lost. */
  addSent(bytes: number): void;
}

/**
 * Writes a body piece by piece, each after the previous one has been sent, so that a long list does not block other
 * requests. Pieces are small until the client has read some. Each waits for memory.
 */
export async function writePieces(
  writer: BodyWriter,
  body: SizedBody | ChunkedBody,
  memory: PieceMemory,
): Promise<void> {
  let lentBuffer: Buffer | undefined;
  let writtenBytes = 0;
  let leftBytes = 0;
  let wake = (): void => {};
  const size = (): number => (memory.isClientReading() ? pieceBytes : firstPieceBytes);
  const allocate: Allocate = (bytes) => {
    const wantedBytes = Math.min(bytes, size());
    lentBuffer =
      wantedBytes < lentBufferBytesMin ? undefined : (freeBuffers.pop() ?? Buffer.allocUnsafeSlow(pieceBytes));
    return lentBuffer ? lentBuffer.subarray(0, wantedBytes) : Buffer.allocUnsafe(wantedBytes);
  };
  if (memory.isFull()) await memory.waitForSpace();
  // The client may have disconnected while the response waited.
  if (writer.destroyed) return;
  for await (const piece of isSized(body) ? splitIntoPieces(body, allocate) : body.chunks()) {
    const whole = lentBuffer;
    lentBuffer = undefined;
    if (writer.destroyed) return;
    // Pieces that do not use allocated buffers have any size.
    for (let from = 0; from < piece.length; ) {
      const part = from === 0 && piece.length <= size() ? piece : piece.subarray(from, from + size());
      from += part.length;
      const isLast = from >= piece.length;
      memory.addBuffered(part.length);
      writtenBytes += part.length;
      const flows = writer.write(part, (error) => {
        leftBytes += part.length;
        memory.addSent(part.length);
        if (isLast && whole && !error) recycleBuffer(whole);
        wake();
      });
      // It is unknown yet whether this client reads.
      if (!memory.isClientReading())
        await waitForDrain(writer, (resolve) => {
          wake = (): void => {
            if (leftBytes === writtenBytes) resolve();
          };
          wake();
        });
      else if (!flows) await waitForDrain(writer);
      if (memory.isFull()) await memory.waitForSpace();
      if (writer.destroyed) return;
    }
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
    signal.addEventListener('abort', () => this.#wake(), { once: true });
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
