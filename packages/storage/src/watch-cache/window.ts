import { type Revision, revision } from '../revision.ts';

/** One thing that happened to one object. */
export interface ItemChange<Item> {
  readonly key: string;
  readonly revision: Revision;
  readonly previous: Item | undefined;
  /** Undefined when the object was removed. */
  readonly current: Item | undefined;
}

interface Weighty {
  readonly key: string;
  readonly weight: number;
}

/** Of a change itself, without its objects. */
const changeWeight = 100;

/**
 * The changes of late, in order: what a reader who fell behind, or comes back, is still to be told. Bounded by the
 * memory that only it holds, which is what was there before each change.
 */
export class Window<Item extends Weighty> {
  readonly #weightMax: number;
  #changes: ItemChange<Item>[] = [];
  /** Where the changes begin that still count: what is dropped is taken out of the array now and then. */
  #head = 0;
  #weight = 0;
  #since = revision(0);

  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  /** Every change after this revision is here. */
  get since(): Revision {
    return this.#since;
  }

  /** Forgets all; what comes now comes after this revision. */
  beginAt(since: Revision): void {
    this.#changes = [];
    this.#head = 0;
    this.#weight = 0;
    this.#since = since;
  }

  add(change: ItemChange<Item>): void {
    this.#changes.push(change);
    this.#weight += weightOf(change);
    while (this.#weight > this.#weightMax) {
      const dropped = this.#changes[this.#head++] as ItemChange<Item>;
      this.#weight -= weightOf(dropped);
      this.#since = dropped.revision;
    }
    if (this.#head > this.#changes.length / 2) {
      this.#changes = this.#changes.slice(this.#head);
      this.#head = 0;
    }
  }

  /** A version of an object is another one in all changes that tell of it. */
  amend(was: Item, is: Item): void {
    for (let at = this.#head; at < this.#changes.length; at++) {
      const change = this.#changes[at] as ItemChange<Item>;
      if (change.key !== was.key || (change.previous !== was && change.current !== was)) continue;
      const { previous, current } = change;
      const amended = {
        ...change,
        previous: previous === was ? is : previous,
        current: current === was ? is : current,
      };
      this.#weight += weightOf(amended) - weightOf(change);
      this.#changes[at] = amended;
    }
  }

  /**
   * The changes after a revision, in order; undefined when some of them are no longer here. With a limit the first
   * ones, as many, and the rest of the revision of the last one.
   */
  after(revision: Revision, limit = Number.POSITIVE_INFINITY): readonly ItemChange<Item>[] | undefined {
    if (revision < this.#since) return undefined;
    let low = this.#head;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#changes[middle] as ItemChange<Item>).revision <= revision) low = middle + 1;
      else high = middle;
    }
    let end = Math.min(low + limit, this.#changes.length);
    while (end > low && this.#changes[end]?.revision === this.#changes[end - 1]?.revision) end++;
    return this.#changes.slice(low, end);
  }
}

const weightOf = ({ previous }: ItemChange<Weighty>): number => changeWeight + (previous?.weight ?? 0);
