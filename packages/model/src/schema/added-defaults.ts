/**
 * How much the defaults of one object add to it. Objects share a default, and defaults share those that are in them: so what
 * is small in memory may be huge as text, and is bounded before anything walks through it.
 */
import { isRawNumber } from '../json/raw-number.ts';
import { jsonValuesMax } from '../json/json-scan.ts';

interface DefaultsBounds {
  readonly valuesMax: number;
  readonly charactersMax: number;
}

/** Of an object that is written: more than etcd stores of one. */
export const writtenDefaults: DefaultsBounds = { valuesMax: jsonValuesMax, charactersMax: 3 * 2 ** 20 };

/**
 * Of an object that is read. Memory holds its defaults, and a change of a definition may add them to each of many objects:
 * so they are bounded by what is stored.
 */
export const readDefaults = (storedBytes: number): DefaultsBounds => ({
  valuesMax: Math.min(writtenDefaults.valuesMax, 500 + storedBytes),
  charactersMax: Math.min(writtenDefaults.charactersMax, 16 * 2 ** 10 + 4 * storedBytes),
});

interface Size {
  readonly values: number;
  readonly characters: number;
}

export class AddedDefaults {
  readonly #bounds: DefaultsBounds;
  #values = 0;
  #characters = 0;

  constructor(bounds: DefaultsBounds) {
    this.#bounds = bounds;
  }

  /** What is wrong if the defaults would be too large together with this one, which is left out then. */
  add(value: unknown): string | undefined {
    const { valuesMax, charactersMax } = this.#bounds;
    const size = sizeOf(value);
    const values = this.#values + size.values;
    const characters = this.#characters + size.characters;
    if (values > valuesMax) return `the defaults of its schema would add more than ${valuesMax} values`;
    if (characters > charactersMax) return `the defaults of its schema would add more than ${charactersMax} characters`;
    this.#values = values;
    this.#characters = characters;
    return undefined;
  }
}

const sizes = new WeakMap<object, Size>();

function sizeOf(value: unknown): Size {
  if (typeof value === 'string') return { values: 1, characters: value.length };
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return one;
  const known = sizes.get(value);
  if (known) return known;
  let [values, characters] = [1, 0];
  for (const [name, member] of Object.entries(value)) {
    const inner = sizeOf(member);
    values += inner.values;
    characters += inner.characters + name.length;
  }
  const size = { values, characters };
  sizes.set(value, size);
  return size;
}

const one: Size = { values: 1, characters: 0 };
