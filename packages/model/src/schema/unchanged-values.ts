import { getOwn } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '../json/json-object.ts';
import { isRawNumber } from '../json/raw-number.ts';
import { sameJson } from '../json/same-json.ts';
import { findEntryStep } from './list-entries.ts';
import { isSharedList, memberSchema, type Schema } from './schema.ts';

/**
 * Which values an update leaves as they were. Each part of a value is compared once, however many parts around it ask.
 * Entries that have keys may change their order, except in a list whose own entries have none.
 */
export class UnchangedValues {
  readonly #known = new Map<object, { readonly current: unknown; readonly isSame: boolean }>();

  has(schema: Schema | undefined, value: unknown, current: unknown): boolean {
    if (typeof value !== 'object' || value === null || isRawNumber(value)) return sameJson(value, current);
    const known = this.#known.get(value);
    if (known?.current === current && known) return known.isSame;
    const isSame = Array.isArray(value)
      ? this.#hasEntries(schema, value, current)
      : isJsonObject(value) && this.#hasMembers(schema, value, current);
    this.#known.set(value, { current, isSame });
    return isSame;
  }

  /** An entry is compared with one other: with more of them, nested lists would take exponential time. */
  #hasEntries(schema: Schema | undefined, value: readonly unknown[], current: unknown): boolean {
    if (!Array.isArray(current) || value.length !== current.length) return false;
    if (!isSharedList(schema) || schema.sharing === 'set')
      return value.every((entry, index) => this.has(undefined, entry, current[index]));
    const { items, sharing } = schema;
    const haveSameOrder = value.every((entry, index) =>
      sharing.keys.every((key) => keyOf(entry, key) === keyOf(current[index], key)),
    );
    if (haveSameOrder) return value.every((entry, index) => this.has(items, entry, current[index]));
    const entries = new Map(current.map((entry: unknown) => [findEntryStep(schema, entry), entry]));
    return value.every((entry) => {
      const step = findEntryStep(schema, entry);
      return step !== undefined && entries.has(step) && this.has(items, entry, entries.get(step));
    });
  }

  #hasMembers(schema: Schema | undefined, value: JsonObject, current: unknown): boolean {
    if (!isJsonObject(current)) return false;
    const known = schema?.type === 'object' || schema?.type === 'map' ? schema : undefined;
    let more = 0;
    for (const name in value) {
      if (!Object.hasOwn(current, name)) return false;
      if (!this.has(known && memberSchema(known, name), value[name], current[name])) return false;
      more++;
    }
    for (const _ in current) more--;
    return more === 0;
  }
}

const keyOf = (entry: unknown, key: string): unknown => (isJsonObject(entry) ? getOwn(entry, key) : undefined);
