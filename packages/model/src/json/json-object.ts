import { invariant } from '@cluster-apiserver/base';
import { isRawNumber } from './raw-number.ts';

/** A JSON object with unknown members. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject => isObjectOrRawNumber(value) && !isRawNumber(value);

/** Faster than `isJsonObject`: for places where no raw number can be, or where one is refused by its member. */
export const isObjectOrRawNumber = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// Walks along a schema use these: decoding has checked the types, so a value of another one is an internal error.

export function requireObject(value: unknown): JsonObject {
  invariant(isObjectOrRawNumber(value), 'a walk along the schema would read members of a value that has none');
  return value;
}

export function requireList(value: unknown): readonly unknown[] {
  invariant(Array.isArray(value), 'a walk along the schema would read entries of a value that has none');
  return value;
}

/** A field that is unset is absent, or null. */
export type Optional<T> = T | null | undefined;

export const requireOptionalObject = (value: unknown): Optional<JsonObject> =>
  value === undefined || value === null ? value : requireObject(value);

export const requireOptionalList = (value: unknown): Optional<readonly unknown[]> =>
  value === undefined || value === null ? value : requireList(value);
