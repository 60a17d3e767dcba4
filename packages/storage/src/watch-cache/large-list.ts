/** As many items fit into one chunk, which is small enough for V8's young generation. */
export const chunkItems = 1_024;

/**
 * A list of hundreds of thousands of items that only grows. V8 copies an array that grows, and while its collector marks,
 * it looks at every copied item: 15 ms at half a million. Here only the last of many chunks grows.
 */
export class LargeList<T> {
  readonly #chunks: T[][];
  #last: T[];
  #size: number;

  /** The list of the items of an array with at most `chunkItems`, which belongs to the list afterwards. */
  constructor(first: T[] = []) {
    this.#chunks = [first];
    this.#last = first;
    this.#size = first.length;
  }

  get size(): number {
    return this.#size;
  }

  at(index: number): T | undefined {
    return this.#chunks[Math.floor(index / chunkItems)]?.[index % chunkItems];
  }

  push(item: T): void {
    if (this.#last.length === chunkItems) this.#chunks.push((this.#last = []));
    this.#last.push(item);
    this.#size++;
  }

  *[Symbol.iterator](): Generator<T> {
    for (const chunk of this.#chunks) yield* chunk;
  }
}
