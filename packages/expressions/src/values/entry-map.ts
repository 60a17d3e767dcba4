import { type MapEntry, EvaluationError, MapValue, Uint, type Value } from './value.ts';

/** A map whose keys 1, 1u and 1.0 are one key, and in which `__proto__` and `constructor` are keys like others. */
export class EntryMap extends MapValue {
  readonly #entries = new Map<string | boolean | bigint, MapEntry>();

  constructor(entries: Iterable<MapEntry>) {
    super();
    for (const [key, value] of entries) {
      if (typeof key === 'number') throw new EvaluationError('unsupported key type: double');
      const plain = plainKey(key);
      if (plain === undefined) throw new EvaluationError('unsupported key type');
      if (this.#entries.has(plain)) throw new EvaluationError('Failed with repeated key');
      this.#entries.set(plain, [key, value]);
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    const plain = plainKey(key);
    return plain === undefined ? undefined : this.#entries.get(plain)?.[1];
  }

  entries(): Iterable<MapEntry> {
    return this.#entries.values();
  }
}

/** Undefined for a value that cannot be a map key. */
function plainKey(key: Value): string | boolean | bigint | undefined {
  if (typeof key === 'string' || typeof key === 'boolean' || typeof key === 'bigint') return key;
  if (key instanceof Uint) return key.value;
  if (typeof key === 'number' && Number.isInteger(key)) return BigInt(key);
  return undefined;
}
