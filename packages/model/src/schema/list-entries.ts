import { getOwn } from '@cluster-apiserver/base';
import { isObjectOrRawNumber } from '../json/json-object.ts';
import type { Field, Schema, SharedListSchema } from './schema.ts';

/** An entry of a keyed list has no key, so ownership of its entries cannot be tracked. */
export class UnkeyedEntryError extends Error {
  override readonly name = 'UnkeyedEntryError';
}

/** The value that identifies an entry in its list. Unlike a step it is not serialized if it is simple. */
export function identityOfEntry(schema: SharedListSchema, entry: unknown): unknown {
  const { items, sharing } = schema;
  if (sharing !== 'set' && sharing.keys.length > 1) return stepOfEntry(schema, entry);
  const value = sharing === 'set' ? entry : keyValueOf(items, entry, sharing.keys[0]);
  if (value === undefined) throw new UnkeyedEntryError(unkeyed(schema));
  return typeof value === 'object' ? `v:${textOf(value)}` : value;
}

/** The step to an entry of a list that writers share. */
export function stepOfEntry(schema: SharedListSchema, entry: unknown): string {
  const step = findEntryStep(schema, entry);
  if (step === undefined) throw new UnkeyedEntryError(unkeyed(schema));
  return step;
}

/** Undefined for an entry without any key. */
export function findEntryStep(schema: SharedListSchema, entry: unknown): string | undefined {
  if (schema.sharing === 'set') return `v:${textOf(entry)}`;
  const keys = keysOfEntry(schema, entry);
  return keys.length === 0
    ? undefined
    : `k:{${keys.map(([key, value]) => `${textOf(key)}:${textOf(value)}`).join(',')}}`;
}

/** The key fields of an entry that have a value, sorted by their names. */
export function keysOfEntry({ items, sharing }: SharedListSchema, entry: unknown): [name: string, value: unknown][] {
  if (sharing === 'set') return [];
  const keys: [string, unknown][] = [];
  for (const key of sharing.keys.length > 1 ? sharing.keys.toSorted() : sharing.keys) {
    const value = keyValueOf(items, entry, key);
    if (value !== undefined) keys.push([key, value]);
  }
  return keys;
}

const unkeyed = ({ sharing }: SharedListSchema): string =>
  `an entry has no ${sharing === 'set' ? 'value' : sharing.keys.join(' or ')}`;

function keyValueOf(items: Schema, entry: unknown, key: string): unknown {
  const value = isObjectOrRawNumber(entry) ? getOwn(entry, key) : undefined;
  return value === undefined && items.type === 'object' ? valueOfAbsent(items.fields.get(key)) : value;
}

/** A field that every response has is empty without a value. */
function valueOfAbsent(key: Field | undefined): unknown {
  const isEmpty = key?.schema.type === 'string' && (key.presence === 'always' || key.presence === 'required');
  return key?.schema.default ?? (isEmpty ? '' : undefined);
}

/** Most keys are plain names, and objects have thousands of them. */
const textOf = (value: unknown): string =>
  typeof value === 'string' && plain.test(value) ? `"${value}"` : JSON.stringify(value);

/** Values that JSON does not escape. */
const plain = /^[ !#-[\]-~]*$/;
