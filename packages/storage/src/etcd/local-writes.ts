import { equalsBytes, totalLength, type Pieces } from '../pieces.ts';
import type { Transformed } from '../transform/transformer.ts';

/** What has not come back by then, because nobody watches, is forgotten the oldest first. */
const bytesMax = 8 * 1024 * 1024;

interface LocalWrite {
  readonly stored: Pieces;
  readonly value: Buffer;
  readonly source: object | undefined;
  /** That it holds. */
  readonly bytes: number;
}

/**
 * What was written here, as it is stored and as it is read, until it comes back by the watch: it need not be decrypted
 * or decoded then. The bytes decide, so it does not matter what became of a write, nor who else writes the same key.
 */
export class LocalWrites {
  readonly #byKey = new Map<string, LocalWrite>();
  #bytes = 0;

  add(key: string, value: Buffer, source: object | undefined, stored: Pieces): void {
    this.#delete(key);
    const bytes = totalLength(stored) + value.length;
    this.#byKey.set(key, { stored, value, source, bytes });
    this.#bytes += bytes;
    if (this.#bytes <= bytesMax) return;
    for (const oldest of this.#byKey.keys()) {
      this.#delete(oldest);
      if (this.#bytes <= bytesMax) return;
    }
  }

  /** It was refused, or nobody knows what became of it: should it come back all the same, it is decrypted then. */
  remove(key: string, stored: Pieces): void {
    if (this.#byKey.get(key)?.stored === stored) this.#delete(key);
  }

  /** Each comes back once. */
  take(key: string, stored: Buffer): Transformed | undefined {
    const written = this.#byKey.get(key);
    if (!written || !equalsBytes(written.stored, stored)) return undefined;
    this.#delete(key);
    return { value: written.value, stale: false, source: written.source };
  }

  #delete(key: string): void {
    const written = this.#byKey.get(key);
    if (!written) return;
    this.#byKey.delete(key);
    this.#bytes -= written.bytes;
  }
}
