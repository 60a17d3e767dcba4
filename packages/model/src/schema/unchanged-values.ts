import { isJsonObject } from '../json/json-object.ts';
import { isRawNumber } from '../json/raw-number.ts';
import { sameJson } from '../json/same-json.ts';

/** Which values an update leaves as they were. Each part of a value is compared once, however many parts around it ask. */
export class UnchangedValues {
  readonly #known = new Map<object, { readonly current: unknown; readonly isSame: boolean }>();

  has(value: unknown, current: unknown): boolean {
    if (typeof value !== 'object' || value === null || isRawNumber(value)) return sameJson(value, current);
    const known = this.#known.get(value);
    if (known?.current === current && known) return known.isSame;
    const isSame = Array.isArray(value) ? this.#hasEntries(value, current) : this.#hasMembers(value, current);
    this.#known.set(value, { current, isSame });
    return isSame;
  }

  #hasEntries(value: readonly unknown[], current: unknown): boolean {
    return (
      Array.isArray(current) &&
      value.length === current.length &&
      value.every((entry, index) => this.has(entry, current[index]))
    );
  }

  #hasMembers(value: object, current: unknown): boolean {
    if (!isJsonObject(current)) return false;
    const members = Object.entries(value);
    return (
      members.length === Object.keys(current).length &&
      members.every(([name, member]) => Object.hasOwn(current, name) && this.has(member, current[name]))
    );
  }
}
