/** Finds what belongs to a key by its prefix. All prefixes end with a slash, and none begins with another. */
export class PrefixMap<Value> {
  readonly #byPrefix = new Map<string, Value>();
  /** How many prefixes have one, two or more slashes. A look-up tries no longer ones. */
  readonly #bySlashes: number[] = [];
  /** How many prefixes are below each shorter one. */
  readonly #below = new Map<string, number>();

  set(prefix: string, value: Value): void {
    if (!this.#byPrefix.has(prefix)) this.#count(prefix, 1);
    this.#byPrefix.set(prefix, value);
  }

  delete(prefix: string): void {
    if (this.#byPrefix.delete(prefix)) this.#count(prefix, -1);
  }

  get(prefix: string): Value | undefined {
    return this.#byPrefix.get(prefix);
  }

  /** Whether objects below this prefix and below one of the map would be taken for each other. */
  overlaps(prefix: string): boolean {
    return this.find(prefix) !== undefined || this.#below.has(prefix);
  }

  values(): IterableIterator<Value> {
    return this.#byPrefix.values();
  }

  find(key: string): Value | undefined {
    let end = 0;
    for (const prefixes of this.#bySlashes) {
      end = key.indexOf('/', end) + 1;
      if (end === 0) return undefined;
      const found = prefixes > 0 && this.#byPrefix.get(key.slice(0, end));
      if (found) return found;
    }
    return undefined;
  }

  #count(prefix: string, change: 1 | -1): void {
    const slashes = prefix.split('/').length - 1;
    while (this.#bySlashes.length < slashes) this.#bySlashes.push(0);
    this.#bySlashes[slashes - 1] = (this.#bySlashes[slashes - 1] ?? 0) + change;
    for (let end = prefix.indexOf('/') + 1; end < prefix.length; end = prefix.indexOf('/', end) + 1) {
      const above = prefix.slice(0, end);
      const count = (this.#below.get(above) ?? 0) + change;
      if (count > 0) this.#below.set(above, count);
      else this.#below.delete(above);
    }
  }
}
