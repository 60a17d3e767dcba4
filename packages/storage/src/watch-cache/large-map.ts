/** Enough that each part of a million entries grows within about a millisecond. A power of two. */
const partCount = 64;

/**
 * A map for hundreds of thousands of strings. V8 moves all entries of a `Map` when it grows, which blocks the event loop
 * for 65 ms at half a million; here only one of many parts grows at a time.
 */
export class LargeMap<Value> {
  /** Made when they are needed: most collections are small. */
  readonly #parts: (Map<string, Value> | undefined)[] = new Array<undefined>(partCount).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: string): Value | undefined {
    return this.#parts[partOf(key)]?.get(key);
  }

  set(key: string, value: Value): void {
    const part = (this.#parts[partOf(key)] ??= new Map());
    const before = part.size;
    part.set(key, value);
    this.#size += part.size - before;
  }

  delete(key: string): void {
    if (this.#parts[partOf(key)]?.delete(key)) this.#size--;
  }
}

function partOf(key: string): number {
  let hash = 0;
  for (let at = 0; at < key.length; at++) hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0;
  return (hash ^ (hash >>> 16)) & (partCount - 1);
}
