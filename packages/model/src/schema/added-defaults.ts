/**
 * How much the defaults of one object add to it. Objects share a default, and defaults share those that are in them: so what
 * is small in memory may be huge as text, and is bounded before anything walks through it.
 */
import { isRawNumber } from '../json/raw-number.ts';
import { jsonValuesMax } from '../json/json-scan.ts';

/** More than etcd stores of an object. */
const charactersMax = 3 * 2 ** 20;

interface Size {
  readonly values: number;
  readonly characters: number;
}

export class AddedDefaults {
  #values = 0;
  #characters = 0;

  /** What is wrong once the defaults are too large together. */
  add(value: unknown): string | undefined {
    const { values, characters } = sizeOf(value);
    this.#values += values;
    this.#characters += characters;
    if (this.#values > jsonValuesMax) return `the defaults of its schema would add more than ${jsonValuesMax} values`;
    if (this.#characters > charactersMax)
      return `the defaults of its schema would add more than ${charactersMax} characters`;
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
