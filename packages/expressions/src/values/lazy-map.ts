import { type MapEntry, EvaluationError, MapValue, type Value } from './value.ts';

/** A map whose values are made when they are read. */
export class LazyMap extends MapValue {
  readonly #names: ReadonlySet<string>;
  readonly #read: (name: string) => Value | undefined;

  constructor(names: ReadonlySet<string>, read: (name: string) => Value | undefined) {
    super();
    this.#names = names;
    this.#read = read;
  }

  get size(): number {
    return this.#names.size;
  }

  get(key: Value): Value | undefined {
    return typeof key === 'string' ? this.#read(key) : undefined;
  }

  *entries(): Iterable<MapEntry> {
    for (const name of this.#names) {
      const value = this.#read(name);
      if (value === undefined) throw new EvaluationError(`no such key: ${name}`);
      yield [name, value];
    }
  }
}
