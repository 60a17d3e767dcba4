export interface ListEntry<T> {
  /** Undefined when it has been removed. */
  item: T | undefined;
}

/**
 * Like `ShortList`, for any number of items. An entry drops its item when it is removed, so the tables that V8 has replaced
 * keep empty entries. See docs/decisions/0055-memory.md.
 */
export class LongList<T> implements Iterable<T> {
  readonly #entries = new Set<ListEntry<T>>();

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the entry, for `delete`. */
  add(item: T): ListEntry<T> {
    const entry: ListEntry<T> = { item };
    this.#entries.add(entry);
    return entry;
  }

  delete(entry: ListEntry<T>): void {
    entry.item = undefined;
    this.#entries.delete(entry);
  }

  /** In order of insertion. Items that are removed meanwhile are left out. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (const { item } of this.#entries) if (item !== undefined) yield item;
  }
}
