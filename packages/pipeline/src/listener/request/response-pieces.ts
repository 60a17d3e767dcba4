import type { Connection } from '../connection/connection.ts';
import type { Loop } from '@cluster-apiserver/base';
import { firstPieceBytes, pieceBytes, pieceCost, readingClientBytesMin } from '../limits.ts';
import type { ListenerContext } from '../listener-context.ts';
import type { ResponseProgress } from './response-progress.ts';
import type { PieceBudget } from './write-body.ts';

export type ConnectionBytes = Pick<Connection, 'responseBytes' | 'sentResponseBytes'>;
export interface ProcessBytes extends Pick<ListenerContext, 'nowMs' | 'responseBytes'> {
  readonly loop: Pick<Loop, 'turn'>;
}

/**
 * The budget of one response on its connection. A class, because each object literal with a getter would get a hidden class
 * of its own, which keeps the request in memory (docs/decisions/0056-garbage.md).
 */
export class ResponsePieces implements PieceBudget {
  readonly #connection: ConnectionBytes;
  readonly #process: ProcessBytes;
  readonly #progress: ResponseProgress;
  readonly #beginningBytes: number;
  #sentBytes = 0;

  /** The first pieces have `beginningBytes`. */
  constructor(connection: ConnectionBytes, process: ProcessBytes, progress: ResponseProgress, beginningBytes: number) {
    this.#connection = connection;
    this.#process = process;
    this.#progress = progress;
    this.#beginningBytes = beginningBytes;
  }

  get pieceBytes(): number {
    return this.isClientReading() ? pieceBytes : this.#beginningBytes;
  }

  isClientReading(): boolean {
    // Many streams with tiny windows read much together, while each reads nearly nothing.
    const isNarrow = this.#beginningBytes < firstPieceBytes;
    return (isNarrow ? this.#sentBytes : this.#connection.sentResponseBytes) >= readingClientBytesMin;
  }

  isFull(): boolean {
    return this.#connection.responseBytes.isFull || this.#process.responseBytes.isFull;
  }

  waitForSpace(): Promise<void> {
    return this.#connection.responseBytes.waitForSpace(() => this.#progress.isFinished);
  }

  waitForTurn(bytes: number): Promise<void> | undefined {
    return this.#process.loop.turn('piece', (bytes + pieceCost.overheadBytes) * pieceCost.msPerByte);
  }

  addBuffered(bytes: number): void {
    this.#progress.hold(bytes);
    this.#progress.markSending(this.#process.nowMs);
  }

  addSent(bytes: number): void {
    this.#sentBytes += bytes;
    this.#connection.sentResponseBytes += bytes;
    this.#progress.release(bytes);
  }
}
