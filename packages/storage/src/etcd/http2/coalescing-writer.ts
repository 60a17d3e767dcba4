import type { Socket } from 'node:net';
import { totalLength, type Pieces } from '../../pieces.ts';

/** What leaves in one turn of the event loop fits, unless objects are large or many. */
const memoryBytes = 64 * 1024;

/** Writes in the same memory again and again, as long as what was written before has left it. */
export class CoalescingWriter {
  readonly #socket: Socket;
  readonly #memory = Buffer.allocUnsafe(memoryBytes);
  #lent = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  write(pieces: Pieces): void {
    const bytes = totalLength(pieces);
    if (this.#lent || bytes > memoryBytes) {
      this.#socket.write(Buffer.concat(pieces, bytes));
      return;
    }
    let at = 0;
    for (const piece of pieces) {
      this.#memory.set(piece, at);
      at += piece.length;
    }
    this.#lent = true;
    this.#socket.write(this.#memory.subarray(0, bytes), () => {
      this.#lent = false;
    });
  }
}
