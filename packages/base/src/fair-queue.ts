import { requireValue } from './invariant.ts';

/** An owner of at most so many items counts as one with few. */
const modestItemsMax = 8;

/**
 * A queue in order of arrival, which is usually short and emptied at once. After `alternateOwners`, owners alternate with one
 * item each until the queue is empty; and every second item is of an owner with few of them, so that a client with some
 * requests does not wait for one of each client with hundreds.
 */
export class FairQueue<T> {
  readonly #ownerOf: (item: T) => object | string;
  readonly #inOrder = new Fifo<T>();
  readonly #byOwner = new Map<object | string, Fifo<T>>();
  /** The owners of few items, in the same order. */
  readonly #modest = new Map<object | string, Fifo<T>>();
  #isModestNext = true;
  size = 0;

  constructor(ownerOf: (item: T) => object | string) {
    this.#ownerOf = ownerOf;
  }

  get #isAlternating(): boolean {
    return this.#byOwner.size > 0;
  }

  push(item: T): void {
    this.size++;
    if (this.#isAlternating) this.#pushShared(item);
    else this.#inOrder.push(item);
  }

  shift(): T | undefined {
    if (this.size === 0) return undefined;
    this.size--;
    return this.#isAlternating ? this.#shiftShared() : this.#inOrder.shift();
  }

  alternateOwners(): void {
    while (this.#inOrder.size > 0) this.#pushShared(requireValue(this.#inOrder.shift()));
  }

  #pushShared(item: T): void {
    const owner = this.#ownerOf(item);
    let items = this.#byOwner.get(owner);
    if (!items) this.#byOwner.set(owner, (items = new Fifo()));
    items.push(item);
    this.#sort(owner, items);
  }

  #sort(owner: object | string, items: Fifo<T>): void {
    if (items.size > modestItemsMax) this.#modest.delete(owner);
    else if (!this.#modest.has(owner)) this.#modest.set(owner, items);
  }

  #shiftShared(): T | undefined {
    const [next] = this.#isModestNext && this.#modest.size > 0 ? this.#modest : this.#byOwner;
    this.#isModestNext = !this.#isModestNext;
    if (!next) return undefined;
    const [owner, items] = next;
    const item = items.shift();
    // Its next turn comes after those of all others.
    this.#byOwner.delete(owner);
    this.#modest.delete(owner);
    if (items.size > 0) {
      this.#byOwner.set(owner, items);
      this.#sort(owner, items);
    }
    return item;
  }
}

/** The front of an array is cut off after so many items, if it is half of them. */
const cutOffMin = 1024;

/** `Array.shift` moves the rest of a long array. */
class Fifo<T> {
  #items: (T | undefined)[] = [];
  #at = 0;

  get size(): number {
    return this.#items.length - this.#at;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    const item = this.#items[this.#at];
    // What has been taken must not stay in memory with the queue.
    this.#items[this.#at++] = undefined;
    if (this.size === 0) {
      this.#items = [];
      this.#at = 0;
    } else if (this.#at >= cutOffMin && this.#at >= this.size) {
      this.#items.splice(0, this.#at);
      this.#at = 0;
    }
    return item;
  }
}
