import { type Bytes, type Flow, hasLength, type Room, type Sink } from '../exchange.ts';
import { pieceBytes, pieceRoomsMax } from './limits.ts';

/** What an HTTP/1.1 response and an HTTP/2 stream have in common once their headers are written. */
export interface Outlet {
  write(bytes: Buffer, sent?: (error?: Error | null) => void): boolean;
  end(): unknown;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
  readonly writableLength: number;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
}

/** Writes bytes piece by piece, each when the one before has left, so that a long list blocks nobody else. */
export async function writePieces(
  outlet: Outlet,
  body: Bytes | Flow,
  progressed: (bytes: number) => void,
): Promise<void> {
  let lent: Buffer | undefined;
  const room: Room = (bytes) => {
    lent = bytes < lentBytesMin ? undefined : (rooms.pop() ?? Buffer.allocUnsafeSlow(pieceBytes));
    return lent ? lent.subarray(0, bytes) : Buffer.allocUnsafe(bytes);
  };
  for await (const piece of hasLength(body) ? piecesOf(body, room) : body.flow()) {
    if (outlet.destroyed) return;
    const sent = lent && givenBack(lent);
    lent = undefined;
    if (!outlet.write(piece, sent)) await emptied(outlet);
    progressed(piece.length);
  }
}

/**
 * Memory in which pieces are made again and again. With new memory for each, half the time of a long list went to the
 * kernel, which has to find clean pages, and to the collector, which has to notice that they are free again.
 */
const rooms: Buffer[] = [];
/** Less than this comes from Node's own pool, or is near enough to it. */
const lentBytesMin = 16 * 1024;

const givenBack =
  (room: Buffer) =>
  (error?: Error | null): void => {
    // After an error nobody knows who still holds it.
    if (!error && rooms.length < pieceRoomsMax) rooms.push(room);
  };

/** The bytes piece by piece. Each is the reader's until `room` gives its memory again. */
export function piecesOf(bytes: Bytes, room: Room): Iterable<Buffer> {
  if (typeof bytes === 'string') return cut(Buffer.from(bytes, 'latin1'));
  return Buffer.isBuffer(bytes) ? cut(bytes) : bytes.pieces(pieceBytes, room);
}

function* cut(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes);
}

function emptied(outlet: Outlet): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outlet.off('drain', done);
      outlet.off('close', done);
      resolve();
    };
    outlet.on('drain', done);
    outlet.on('close', done);
    if (outlet.destroyed) done();
  });
}

/** Where the events of one watch go. There may be thousands that say nothing for long, so each is small. */
export class OutletSink implements Sink {
  readonly signal: AbortSignal;
  readonly draining: AbortSignal;
  readonly #outlet: Outlet;
  /** Counted by ourselves: 'drain' comes only after a write above the high-water mark, and drained() promises an empty backlog. */
  #unsent = 0;
  #writtenBytes = 0;
  #waiting: (() => void)[] = [];
  readonly #sent = (): void => {
    this.#unsent -= 1;
    if (this.#unsent === 0) this.#wake();
  };

  constructor(outlet: Outlet, signal: AbortSignal, draining: AbortSignal) {
    this.#outlet = outlet;
    this.signal = signal;
    this.draining = draining;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  get backlogBytes(): number {
    return this.#outlet.writableLength;
  }

  /** All that was written so far, sent or not. */
  get writtenBytes(): number {
    return this.#writtenBytes;
  }

  write(bytes: Buffer): void {
    if (this.#outlet.destroyed || this.#outlet.writableEnded) return;
    this.#unsent += 1;
    this.#writtenBytes += bytes.length;
    this.#outlet.write(bytes, this.#sent);
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
