/**
 * The encoding of an object in steps, for a value that is so large that encoding it at once would block the event loop. The
 * parts together are the bytes that `encodeMessage` writes.
 */
import { requireList, requireObject } from '../json/json-object.ts';
import { jsonTexts } from '../json/json-texts.ts';
import type { ObjectSchema } from '../schema/schema.ts';
import { writeEntries, writeItems, writeValue } from './protobuf-encoder.ts';
import { delimited, encodeWith, writeTag } from './protobuf-wire.ts';

/** Entries of a list or map that are written in one step. */
const stepEntries = 256;
/** Deeper values are encoded in one step with the value around them. */
const stepLevels = 8;

/** Yields between the steps and returns the parts of the message. */
export function* messageParts(
  schema: ObjectSchema,
  value: object,
  levels = stepLevels,
): Generator<undefined, readonly Uint8Array[]> {
  const parts: Uint8Array[] = [];
  const members = requireObject(value);
  for (const { name, number, schema: held } of schema.fields.values()) {
    const given = members[name];
    if (number === undefined || given === undefined || given === null) continue;
    if (held.type === 'object' && !held.otherwise && levels > 0) {
      parts.push(...delimitedParts(number, yield* messageParts(held, requireObject(given), levels - 1)));
    } else if (held.type === 'list' && held.items.type === 'object' && !held.items.otherwise && levels > 0) {
      parts.push(...(yield* itemParts(number, held.items, requireList(given), levels - 1)));
    } else if (held.type === 'list') {
      for (const some of inBatches(requireList(given))) {
        parts.push(encodeWith((to) => writeItems(to, number, held, some)));
        yield;
      }
    } else if (held.type === 'map') {
      const map = requireObject(given);
      for (const some of inBatches(Object.keys(map))) {
        parts.push(encodeWith((to) => writeEntries(to, number, held, map, some)));
        yield;
      }
    } else if (held.type === 'any') {
      const texts: Uint8Array[] = [];
      for (const text of jsonTexts(given)) {
        if (text) texts.push(Buffer.from(text));
        yield;
      }
      parts.push(...delimitedParts(number, delimitedParts(1, texts)));
    } else parts.push(encodeWith((to) => writeValue(to, number, held, given)));
    yield;
  }
  const { embedded } = schema;
  if (embedded) parts.push(...delimitedParts(embedded.number, yield* messageParts(embedded.schema, value, levels)));
  return parts;
}

/** Few large objects are written in steps of their own, and many in batches. */
function* itemParts(
  number: number,
  items: ObjectSchema,
  list: readonly unknown[],
  levels: number,
): Generator<undefined, readonly Uint8Array[]> {
  const parts: Uint8Array[] = [];
  if (list.length <= fewItems)
    for (const item of list)
      parts.push(...delimitedParts(number, yield* messageParts(items, requireObject(item), levels)));
  else
    for (const some of inBatches(list)) {
      parts.push(encodeWith((to) => some.forEach((item) => writeValue(to, number, items, item))));
      yield;
    }
  return parts;
}

const fewItems = 16;

function* inBatches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += stepEntries) yield all.slice(at, at + stepEntries);
}

/** A field that holds these parts. */
function delimitedParts(number: number, parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return [encodeWith((to) => writeTag(to, number, delimited).uint32(length)), ...parts];
}
