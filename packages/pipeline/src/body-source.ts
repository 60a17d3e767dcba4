import type { ByteString } from '@cluster-apiserver/model/codec';

/** Returns at most this many bytes of memory with arbitrary contents. */
export type Allocate = (bytes: number) => Buffer;

/** Memory that is not used again. */
export const allocateAnew: Allocate = (bytes) => Buffer.allocUnsafe(bytes);

/** A body that is generated while it is sent: a long list needs no memory of its length. */
export interface BodySource {
  /** In bytes; undefined if it is not known before the end, as of a compressed body. */
  readonly length?: number | undefined;
  /**
   * The next piece, of about so many bytes; undefined at the end. It is requested after the previous piece was written. It may
   * use memory of `allocate`, which is overwritten once the piece has been sent.
   */
  next(bytesMax: number, allocate: Allocate): Buffer | undefined | Promise<Buffer | undefined>;
  /** No more will be requested, whether the end was reached or not. */
  close(): void;
}

/** What is sent as it is. A small one leaves with the head of its response. */
export type ReadyBody = Buffer | ByteString;

export const isReady = (body: ReadyBody | BodySource | undefined): body is ReadyBody | undefined =>
  body === undefined || typeof body === 'string' || Buffer.isBuffer(body);

/** A body that is ready, piece by piece. */
export class ReadyBodySource implements BodySource {
  readonly length: number;
  readonly #bytes: Buffer;
  #at = 0;

  constructor(body: ReadyBody) {
    this.#bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
    this.length = this.#bytes.length;
  }

  next(bytesMax: number): Buffer | undefined {
    if (this.#at >= this.length) return undefined;
    const from = this.#at;
    this.#at += bytesMax;
    return this.#bytes.subarray(from, this.#at);
  }

  close(): void {}
}

/** All bytes of a body. */
export async function readWhole(body: ReadyBody | BodySource): Promise<Buffer> {
  const source = isReady(body) ? new ReadyBodySource(body) : body;
  const pieces: Buffer[] = [];
  for (;;) {
    const piece = await source.next(Number.POSITIVE_INFINITY, allocateAnew);
    if (!piece) break;
    pieces.push(piece);
  }
  source.close();
  return joinBuffers(pieces);
}

/** Concatenates buffers, `bytes` together. A single one is not copied. */
export function joinBuffers(buffers: readonly Buffer[], bytes?: number): Buffer {
  const first = buffers[0];
  return first !== undefined && buffers.length === 1 ? first : Buffer.concat(buffers, bytes);
}
