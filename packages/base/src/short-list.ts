/**
 * A few items in order of insertion that come and go at a high rate, such as requests in flight. A `Set` would do the same,
 * but V8 links each table that it has outgrown to the next one: once a table is in the old generation, all later ones stay
 * in memory with the items they had, until the next full collection. See docs/decisions/0055-memory.md.
 */
export class ShortList<T> implements Iterable<T> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: T): void {
    this.#items.push(item);
  }

  delete(item: T): void {
    const at = this.#items.indexOf(item);
    if (at >= 0) this.#items.splice(at, 1);
  }

  /** The items that are present now, whatever happens to them meanwhile. */
  [Symbol.iterator](): IterableIterator<T> {
    return this.#items.slice().values();
  }
}
