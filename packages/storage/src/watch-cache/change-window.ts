import { requireValue } from '@cluster-apiserver/base';
import { type Revision, zeroRevision } from '../revision.ts';

/** One change of one object. */
export interface ItemChange<Item> {
  readonly key: string;
  readonly revision: Revision;
  readonly previous: Item | undefined;
  /** Undefined if the object was deleted. */
  readonly current: Item | undefined;
}

/** The weight of a change without its objects. */
const changeWeight = 100;

const droppedChange = { key: '', revision: zeroRevision, previous: undefined, current: undefined };

export interface ChangeWindowOptions<Item> {
  /** Above this weight the oldest changes are dropped. */
  readonly weightMax: number;
  /** The weight of the objects that only this change keeps in memory. */
  readonly weightOf: (change: ItemChange<Item>) => number;
}

/** The latest changes in order, bounded by weight and, with `trim`, by age. */
export class ChangeWindow<Item> {
  readonly #weightMax: number;
  readonly #weightOf: (change: ItemChange<Item>) => number;
  #changes: ItemChange<Item>[] = [];
  /** The index of the first change that is not dropped. The places of dropped ones are removed now and then. */
  #head = 0;
  #weight = 0;
  #since = zeroRevision;
  /** The ages of ranges of changes, recorded by `trim`: a time for each change would cost memory. */
  #ages: { readonly sinceMs: number; last: Revision }[] = [];

  constructor({ weightMax, weightOf }: ChangeWindowOptions<Item>) {
    this.#weightMax = weightMax;
    this.#weightOf = weightOf;
  }

  /** The window contains every change after this revision. */
  get since(): Revision {
    return this.#since;
  }

  get count(): number {
    return this.#changes.length - this.#head;
  }

  /** The memory that only the window keeps. */
  get weight(): number {
    return this.#weight;
  }

  /** Drops all changes; later ones follow this revision. */
  restartAt(since: Revision): void {
    this.#changes = [];
    this.#head = 0;
    this.#weight = 0;
    this.#since = since;
    this.#ages = [];
  }

  add(change: ItemChange<Item>): void {
    this.#changes.push(change);
    this.#weight += this.#weigh(change);
    while (this.#weight > this.#weightMax) this.#drop();
    this.#compact();
  }

  /** Drops changes older than `ageMs` while the window weighs more than `weightKept`. Call it every few seconds. */
  trim(nowMs: number, ageMs: number, weightKept: number): void {
    const latest = this.#changes.at(-1);
    if (latest && latest.revision > (this.#ages.at(-1)?.last ?? this.#since))
      this.#ages.push({ sinceMs: nowMs, last: latest.revision });
    let old: Revision | undefined;
    while (this.#ages[0] && nowMs - this.#ages[0].sinceMs >= ageMs) old = this.#ages.shift()?.last;
    if (old !== undefined)
      while (this.#weight > weightKept && (this.#changes[this.#head]?.revision ?? Infinity) <= old) this.#drop();
    this.#compact();
  }

  /** Drops the changes up to a revision. */
  dropThrough(revision: Revision): void {
    while ((this.#changes[this.#head]?.revision ?? Infinity) <= revision) this.#drop();
    this.#compact();
  }

  /**
   * The changes after a revision, in order; undefined if some of them were dropped. With a limit it returns the first ones,
   * and completes the revision of the last one.
   */
  after(revision: Revision, limit = Number.POSITIVE_INFINITY): readonly ItemChange<Item>[] | undefined {
    if (revision < this.#since) return undefined;
    const first = this.#indexAfter(revision);
    let end = Math.min(first + limit, this.#changes.length);
    while (end > first && this.#changes[end]?.revision === this.#changes[end - 1]?.revision) end++;
    return this.#changes.slice(first, end);
  }

  #indexAfter(revision: number): number {
    let low = this.#head;
    let high = this.#changes.length;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (requireValue(this.#changes[middle]).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #drop(): void {
    const dropped = requireValue(this.#changes[this.#head]);
    // Its place stays for a while, but must not keep the objects.
    this.#changes[this.#head++] = droppedChange;
    this.#weight -= this.#weigh(dropped);
    this.#since = dropped.revision;
  }

  #compact(): void {
    if (this.#head <= this.#changes.length / 2) return;
    this.#changes = this.#changes.slice(this.#head);
    this.#head = 0;
  }

  #weigh(change: ItemChange<Item>): number {
    return changeWeight + this.#weightOf(change);
  }
}
