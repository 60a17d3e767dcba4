import { type Bytes, type Flow, hasLength, type Sink } from '../exchange.ts';
import { pieceBytes } from './limits.ts';

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
export async function writePieces(outlet: Outlet, body: Bytes | Flow, progressed: () => void): Promise<void> {
  for await (const piece of hasLength(body) ? piecesOf(body) : body.flow()) {
    if (outlet.destroyed) return;
    if (!outlet.write(piece)) await roomIn(outlet);
    progressed();
  }
}

export function piecesOf(bytes: Bytes): Iterable<Buffer> {
  if (typeof bytes === 'string') return cut(Buffer.from(bytes, 'latin1'));
  return Buffer.isBuffer(bytes) ? cut(bytes) : bytes.pieces(pieceBytes);
}

function* cut(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes);
}

function roomIn(outlet: Outlet): Promise<void> {
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

export function sinkInto(outlet: Outlet, signal: AbortSignal, draining: AbortSignal): Sink {
  // Counted by ourselves: 'drain' comes only after a write above the high-water mark, and drained() promises an empty backlog.
  let unsent = 0;
  let waiting: (() => void)[] = [];
  const wake = (): void => {
    const woken = waiting;
    waiting = [];
    for (const resolve of woken) resolve();
  };
  const sent = (): void => {
    unsent -= 1;
    if (unsent === 0) wake();
  };
  signal.addEventListener('abort', wake, { once: true });
  return {
    write: (bytes) => {
      if (outlet.destroyed || outlet.writableEnded) return;
      unsent += 1;
      outlet.write(bytes, sent);
    },
    get backlogBytes() {
      return outlet.writableLength;
    },
    drained: () =>
      unsent === 0 || signal.aborted ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)),
    signal,
    draining,
  };
}
