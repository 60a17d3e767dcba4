import { type SizedBody, type ChunkedBody, isSized, type Allocate, type Sink } from '../../exchange.ts';
import { firstPieceBytes, pieceBytes, freeBuffersMax } from '../limits.ts';

/** What an HTTP/1.1 response and an HTTP/2 stream have in common once their headers are written. */
export interface BodyWriter {
  write(bytes: Buffer, sent?: (error?: Error | null) => void): boolean;
  end(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
  readonly writableLength: number;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
}

/** Memory for pieces of responses, which others need as well. */
export interface PieceMemory {
  /** Whether the client has taken something on this connection: of this response, or of one before it. */
  isClientReading(): boolean;
  isFull(): boolean;
  /** Resolves when there is some, or when the response has ended. */
  waitForSpace(): Promise<void>;
  /** A piece was made and is in memory. */
  written(bytes: number): void;
  /** A piece has left for the kernel or is lost. */
  left(bytes: number): void;
}

/**
 * Writes bytes piece by piece, each when the one before has left, so that a long list blocks nobody else. Pieces are
 * small until the client has taken some. None is made before there is memory for it.
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
    const wanted = Math.min(bytes, size());
    lentBuffer = wanted < lentBufferBytesMin ? undefined : (freeBuffers.pop() ?? Buffer.allocUnsafeSlow(pieceBytes));
    return lentBuffer ? lentBuffer.subarray(0, wanted) : Buffer.allocUnsafe(wanted);
  };
  if (memory.isFull()) await memory.waitForSpace();
  // The client may have left while the response waited for its turn or for memory: no piece is made for nobody.
  if (writer.destroyed) return;
  for await (const piece of isSized(body) ? splitIntoPieces(body, allocate) : body.chunks()) {
    const whole = lentBuffer;
    lentBuffer = undefined;
    if (writer.destroyed) return;
    // What was not put together in our memory comes in pieces of any size.
    for (let from = 0; from < piece.length; ) {
      const part = from === 0 && piece.length <= size() ? piece : piece.subarray(from, from + size());
      from += part.length;
      const isLast = from >= piece.length;
      memory.written(part.length);
      writtenBytes += part.length;
      const flows = writer.write(part, (error) => {
        leftBytes += part.length;
        memory.left(part.length);
        if (isLast && whole && !error) recycleBuffer(whole);
        wake();
      });
      // Of a client that has taken little nobody knows yet whether it will take more.
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
 * Memory in which pieces are made again and again. With new memory for each, half the time of a long list went to the
 * kernel, which has to find clean pages, and to the collector, which has to notice that they are free again.
 */
const freeBuffers: Buffer[] = [];
/** Less than this is a first piece, or the end of a list, and not worth so much memory. */
const lentBufferBytesMin = 32 * 1024;

/** Not after an error: nobody knows who still holds it then. */
function recycleBuffer(buffer: Buffer): void {
  if (freeBuffers.length < freeBuffersMax) freeBuffers.push(buffer);
}

/** The bytes piece by piece. Each is the reader's until `room` gives its memory again. */
export function splitIntoPieces(bytes: SizedBody, allocate: Allocate): Iterable<Buffer> {
  if (typeof bytes === 'string') return sliceBuffer(Buffer.from(bytes, 'latin1'));
  return Buffer.isBuffer(bytes) ? sliceBuffer(bytes) : bytes.pieces(pieceBytes, allocate);
}

function* sliceBuffer(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes);
}

/** Resolves when the writer takes more, or when `whenTaken` says so in its place; and when it closes. */
function waitForDrain(writer: BodyWriter, whenTaken?: (resolve: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      writer.off('drain', done);
      writer.off('close', done);
      resolve();
    };
    if (!whenTaken) writer.on('drain', done);
    writer.on('close', done);
    if (writer.destroyed) done();
    else whenTaken?.(done);
  });
}

/** Where the events of one watch go. There may be thousands that say nothing for long, so each is small. */
export class BodySink implements Sink {
  readonly signal: AbortSignal;
  readonly draining: AbortSignal;
  readonly #writer: BodyWriter;
  /** Counted by ourselves: 'drain' comes only after a write above the high-water mark, and drained() promises an empty backlog. */
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

  /** All that was written so far, sent or not. */
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
