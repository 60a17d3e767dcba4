/**
 * Splits a byte stream into frames, each with a head of fixed size that contains the length of its body. HTTP/2 frames and
 * gRPC messages have this form. The memory of received pieces is reused, so incomplete frames are copied: into new memory,
 * or into memory that is reused as well.
 */
export class LengthPrefixedFramer {
  readonly #headBytes: number;
  readonly #bodyBytes: (head: Buffer, at: number) => number;
  readonly #head: Buffer;
  readonly #reused: Buffer | undefined;
  /** The received part of an incomplete frame: of its head, or of the whole frame once its length is known. */
  #partial: Buffer;
  #partialBytes = 0;

  /**
   * `bodyBytes` reads the length from a head, and throws on an invalid head. Frames of up to `reusedBytes` that arrive in
   * several pieces are assembled in memory that is valid until `onFrame` returns. V8's collector does a part of its work
   * for each new piece of such memory, which takes milliseconds in a large heap.
   */
  constructor(headBytes: number, bodyBytes: (head: Buffer, at: number) => number, reusedBytes = 0) {
    this.#headBytes = headBytes;
    this.#reused = reusedBytes > 0 ? Buffer.allocUnsafeSlow(reusedBytes) : undefined;
    this.#bodyBytes = bodyBytes;
    this.#head = Buffer.allocUnsafe(headBytes);
    this.#partial = this.#head;
  }

  /**
   * Calls `onFrame` for each frame that is complete now, from the start of its head to the end of its body. `held` is the
   * piece, or another buffer for a frame that arrived in several pieces.
   */
  push(piece: Buffer, onFrame: (held: Buffer, start: number, end: number) => void): void {
    let at = this.#partialBytes > 0 ? this.#complete(piece, onFrame) : 0;
    while (piece.length - at >= this.#headBytes) {
      const end = at + this.#headBytes + this.#bodyBytes(piece, at);
      if (end > piece.length) break;
      onFrame(piece, at, end);
      at = end;
    }
    if (at < piece.length) this.#fill(piece, at);
  }

  /** Completes the partial frame if possible. Returns where the next frame begins. */
  #complete(piece: Buffer, onFrame: (held: Buffer, start: number, end: number) => void): number {
    const at = this.#fill(piece, 0);
    if (this.#partial === this.#head || this.#partialBytes < this.#partial.length) return at;
    const whole = this.#partial;
    this.#partial = this.#head;
    this.#partialBytes = 0;
    onFrame(whole, 0, whole.length);
    return at;
  }

  /** Copies as much of the piece as is missing. Returns where it stopped. */
  #fill(piece: Buffer, from: number): number {
    let at = this.#copy(piece, from);
    if (this.#partial !== this.#head || this.#partialBytes < this.#headBytes) return at;
    const bytes = this.#headBytes + this.#bodyBytes(this.#head, 0);
    const isSmall = this.#reused !== undefined && bytes <= this.#reused.length;
    this.#partial = isSmall ? this.#reused.subarray(0, bytes) : Buffer.allocUnsafe(bytes);
    this.#head.copy(this.#partial);
    at = this.#copy(piece, at);
    return at;
  }

  #copy(piece: Buffer, from: number): number {
    const copied = piece.copy(this.#partial, this.#partialBytes, from);
    this.#partialBytes += copied;
    return from + copied;
  }
}
