import type { Socket } from 'node:net';
import { totalLength, type Pieces } from '../../pieces.ts';

/** What one event-loop iteration sends fits, unless objects are large or many. */
const bufferBytes = 64 * 1024;

/** Joins pieces to one write. It reuses its memory as soon as the previous write has completed. */
export class CoalescingWriter {
  readonly #socket: Socket;
  readonly #buffer = Buffer.allocUnsafe(bufferBytes);
  #isInUse = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  write(pieces: Pieces): void {
    const bytes = totalLength(pieces);
    if (this.#isInUse || bytes > bufferBytes) {
      this.#socket.write(Buffer.concat(pieces, bytes));
      return;
    }
    let at = 0;
    for (const piece of pieces) {
      this.#buffer.set(piece, at);
      at += piece.length;
    }
    this.#isInUse = true;
    this.#socket.write(this.#buffer.subarray(0, bytes), () => {
      this.#isInUse = false;
    });
  }
}
