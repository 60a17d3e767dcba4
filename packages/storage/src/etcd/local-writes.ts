import { equalsBytes, totalLength, type Pieces } from '../pieces.ts';
import type { Transformed } from '../transform/transformer.ts';

/** Beyond this the oldest writes are dropped, as when no watch delivers them. */
const bytesMax = 8 * 1024 * 1024;

interface LocalWrite {
  /** Dropped with the write: V8 may keep deleted entries of a map for a while, see docs/decisions/0056-garbage.md. */
  content: WrittenContent | undefined;
  /** The memory that it uses. */
  readonly bytes: number;
}

interface WrittenContent {
  readonly stored: Pieces;
  readonly value: Buffer;
  readonly source: object | undefined;
}

/**
 * In-flight writes of this replica, kept until the watch delivers them, which then need not be decrypted or decoded. A
 * write is recognised by its stored bytes, so its outcome and other writers of the key do not matter.
 */
export class LocalWrites {
  readonly #byKey = new Map<string, LocalWrite>();
  #bytes = 0;

  add(key: string, value: Buffer, source: object | undefined, stored: Pieces): void {
    this.#delete(key);
    const bytes = totalLength(stored) + value.length;
    this.#byKey.set(key, { content: { stored, value, source }, bytes });
    this.#bytes += bytes;
    if (this.#bytes <= bytesMax) return;
    for (const oldest of this.#byKey.keys()) {
      this.#delete(oldest);
      if (this.#bytes <= bytesMax) return;
    }
  }

  /** The write failed, or its outcome is unknown. If the watch delivers it all the same, it is decrypted. */
  remove(key: string, stored: Pieces): void {
    if (this.#byKey.get(key)?.content?.stored === stored) this.#delete(key);
  }

  /** The watch delivers each write once, so this also removes it. */
  take(key: string, stored: Buffer): Transformed | undefined {
    const written = this.#byKey.get(key)?.content;
    if (!written || !equalsBytes(written.stored, stored)) return undefined;
    this.#delete(key);
    return { value: written.value, stale: false, source: written.source };
  }

  #delete(key: string): void {
    const written = this.#byKey.get(key);
    if (!written) return;
    written.content = undefined;
    this.#byKey.delete(key);
    this.#bytes -= written.bytes;
  }
}
