/**
 * Cuts a flow of bytes into units that each begin with a head of fixed size, which tells how long the rest is. Frames of
 * HTTP/2 are such units, and so are messages of gRPC. The pieces of the flow are lent: what is not complete is copied.
 */
export class LengthPrefixedFramer {
  readonly #headBytes: number;
  readonly #bodyBytes: (head: Buffer, at: number) => number;
  readonly #head: Buffer;
  /** What has come of a unit that is not complete: of its head, or of all of it once that is known. */
  #partial: Buffer;
  #partialBytes = 0;

  /** `bodyBytes` reads a head, and throws on one that nobody may send. */
  constructor(headBytes: number, bodyBytes: (head: Buffer, at: number) => number) {
    this.#headBytes = headBytes;
    this.#bodyBytes = bodyBytes;
    this.#head = Buffer.allocUnsafe(headBytes);
    this.#partial = this.#head;
  }

  /**
   * Tells of each unit that is complete now: where its head begins, and where its body ends. `held` is the piece, or for
   * a unit that came in several pieces a buffer that is nobody else's.
   */
  push(piece: Buffer, unit: (held: Buffer, start: number, end: number) => void): void {
    let at = this.#partialBytes > 0 ? this.#complete(piece, unit) : 0;
    while (piece.length - at >= this.#headBytes) {
      const end = at + this.#headBytes + this.#bodyBytes(piece, at);
      if (end > piece.length) break;
      unit(piece, at, end);
      at = end;
    }
    if (at < piece.length) this.#fill(piece, at);
  }

  /** Gives where the next unit begins. */
  #complete(piece: Buffer, unit: (held: Buffer, start: number, end: number) => void): number {
    const at = this.#fill(piece, 0);
    if (this.#partial === this.#head || this.#partialBytes < this.#partial.length) return at;
    const whole = this.#partial;
    this.#partial = this.#head;
    this.#partialBytes = 0;
    unit(whole, 0, whole.length);
    return at;
  }

  /** Takes as much of the piece as is missing, and gives where it stopped. */
  #fill(piece: Buffer, from: number): number {
    let at = this.#take(piece, from);
    if (this.#partial !== this.#head || this.#partialBytes < this.#headBytes) return at;
    this.#partial = Buffer.allocUnsafe(this.#headBytes + this.#bodyBytes(this.#head, 0));
    this.#head.copy(this.#partial);
    at = this.#take(piece, at);
    return at;
  }

  #take(piece: Buffer, from: number): number {
    const taken = piece.copy(this.#partial, this.#partialBytes, from);
    this.#partialBytes += taken;
    return from + taken;
  }
}
