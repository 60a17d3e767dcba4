import { type Revision, revision } from '../revision.ts';

/** One thing that happened to one object. */
export interface ItemChange<Item> {
  readonly key: string;
  readonly revision: Revision;
  readonly previous: Item | undefined;
  /** Undefined when the object was removed. */
  readonly current: Item | undefined;
}

/** Of a change itself, without its objects. */
const changeWeight = 100;

export interface ChangeWindowOptions<Item> {
  /** What it may weigh; the oldest changes are dropped above that. */
  readonly weightMax: number;
  /** What a change alone holds, besides itself. */
  readonly weightOf: (change: ItemChange<Item>) => number;
}

/** The latest changes, in order, bounded by what they weigh and, when asked to, by their age. */
export class ChangeWindow<Item> {
  readonly #weightMax: number;
  readonly #weightOf: (change: ItemChange<Item>) => number;
  #changes: ItemChange<Item>[] = [];
  /** The index of the first change that still counts: those before it are cut off now and then. */
  #head = 0;
  #weight = 0;
  #since = revision(0);
  /** When the newest change up to a revision came, noted by `trim`: a time for each change would cost memory. */
  #ages: { readonly sinceMs: number; last: Revision }[] = [];

  constructor({ weightMax, weightOf }: ChangeWindowOptions<Item>) {
    this.#weightMax = weightMax;
    this.#weightOf = weightOf;
  }

  /** Every change after this revision is here. */
  get since(): Revision {
    return this.#since;
  }

  /** How many changes are here. */
  get count(): number {
    return this.#changes.length - this.#head;
  }

  /** The memory that only it holds. */
  get weight(): number {
    return this.#weight;
  }

  /** Forgets all; what comes now comes after this revision. */
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
    this.#cut();
  }

  /**
   * To be called every few seconds: drops what came before the last `ageMs`, as long as the rest weighs more than
   * `weightKept`.
   */
  trim(nowMs: number, ageMs: number, weightKept: number): void {
    const newest = this.#changes.at(-1);
    if (newest && newest.revision > (this.#ages.at(-1)?.last ?? this.#since))
      this.#ages.push({ sinceMs: nowMs, last: newest.revision });
    let old: Revision | undefined;
    while (this.#ages[0] && nowMs - this.#ages[0].sinceMs >= ageMs) old = this.#ages.shift()?.last;
    if (old !== undefined)
      while (this.#weight > weightKept && (this.#changes[this.#head]?.revision ?? Infinity) <= old) this.#drop();
    this.#cut();
  }

  /** A version of an object is another one: in the change that made it, and in the one that replaced it. */
  replaceItem(is: Item & { readonly key: string; readonly revision: Revision }): void {
    let was: Item | undefined;
    for (let at = this.#indexAfter(revision(is.revision - 1)); at < this.#changes.length; at++) {
      const change = this.#changes[at] as ItemChange<Item>;
      if (!was && change.revision > is.revision) return;
      if (change.key !== is.key) continue;
      if (was) {
        if (change.previous === was) this.#replace(at, { ...change, previous: is });
        return;
      }
      was = change.current;
      this.#replace(at, { ...change, current: is });
    }
  }

  #replace(at: number, change: ItemChange<Item>): void {
    this.#weight += this.#weigh(change) - this.#weigh(this.#changes[at] as ItemChange<Item>);
    this.#changes[at] = change;
  }

  /**
   * The changes after a revision, in order; undefined when some of them are no longer here. With a limit the first
   * ones, as many, and the rest of the revision of the last one.
   */
  after(revision: Revision, limit = Number.POSITIVE_INFINITY): readonly ItemChange<Item>[] | undefined {
    if (revision < this.#since) return undefined;
    const first = this.#indexAfter(revision);
    let end = Math.min(first + limit, this.#changes.length);
    while (end > first && this.#changes[end]?.revision === this.#changes[end - 1]?.revision) end++;
    return this.#changes.slice(first, end);
  }

  #indexAfter(revision: Revision): number {
    let low = this.#head;
    let high = this.#changes.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#changes[middle] as ItemChange<Item>).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #drop(): void {
    const dropped = this.#changes[this.#head++] as ItemChange<Item>;
    this.#weight -= this.#weigh(dropped);
    this.#since = dropped.revision;
  }

  #cut(): void {
    if (this.#head <= this.#changes.length / 2) return;
    this.#changes = this.#changes.slice(this.#head);
    this.#head = 0;
  }

  #weigh(change: ItemChange<Item>): number {
    return changeWeight + this.#weightOf(change);
  }
}
