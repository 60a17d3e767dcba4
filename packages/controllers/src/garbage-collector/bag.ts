/**
 * A set whose first item is found in one step. A Set that loses its items in their order would first skip all those that
 * it has lost.
 */
export class Bag<Item> {
  readonly #items: Item[] = [];
  readonly #places = new Map<Item, number>();

  get size(): number {
    return this.#items.length;
  }

  /** Any of the items. */
  get first(): Item | undefined {
    return this.#items[0];
  }

  add(item: Item): void {
    if (this.#places.has(item)) return;
    this.#places.set(item, this.#items.length);
    this.#items.push(item);
  }

  /** The last item takes the place of the deleted one. */
  delete(item: Item): void {
    const place = this.#places.get(item);
    if (place === undefined) return;
    this.#places.delete(item);
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    this.#items[place] = last;
    this.#places.set(last, place);
  }

  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.values();
  }
}

export type ReadonlyBag<Item> = Omit<Bag<Item>, 'add' | 'delete'>;
