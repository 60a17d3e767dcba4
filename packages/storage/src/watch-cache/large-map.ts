import { requireValue } from '@cluster-apiserver/base';

/** Enough that each part of a million entries grows within about a millisecond. A power of two. */
const partCount = 64;

/**
 * A map for hundreds of thousands of strings. V8 moves all entries of a `Map` when it grows, which blocks the event loop
 * for 65 ms at half a million; here only one of many parts grows at a time.
 */
export class LargeMap<Value> {
  readonly #parts: readonly Map<string, Value>[] = Array.from({ length: partCount }, () => new Map<string, Value>());
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    return this.#partOf(key).get(key);
  }

  set(key: string, value: Value): void {
    const part = this.#partOf(key);
    const before = part.size;
    part.set(key, value);
    this.#size += part.size - before;
  }

  delete(key: string): void {
    if (this.#partOf(key).delete(key)) this.#size--;
  }

  /** The entries, in no order. */
  *[Symbol.iterator](): Generator<[string, Value]> {
    for (const part of this.#parts) yield* part;
  }

  #partOf(key: string): Map<string, Value> {
    let hash = 0;
    for (let at = 0; at < key.length; at++) hash = Math.imul(hash, 31) + key.charCodeAt(at);
    return requireValue(
      this.#parts[(hash ^ (hash >>> 16)) & (partCount - 1)],
      'the index is below the number of parts',
    );
  }
}
