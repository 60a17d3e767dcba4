/** Fields of the messages in which gnostic keeps OpenAPI documents. */
import {
  delimited,
  encodeWith,
  formatYaml,
  type ProtobufWriter,
  varint,
  writeNested,
  writeTag,
} from '@cluster-apiserver/model/codec';
import { isJsonObject } from '@cluster-apiserver/model/json';
import type { JsonSchema } from '@cluster-apiserver/model/schema';
import { countValues } from '@cluster-apiserver/model/validation';
import { isLarge } from './document-parts.ts';

/** Extensions are encoded as YAML in blocks, with members in the order of their names, as Go writes it. */
export function encodeExtensions(to: ProtobufWriter, number: number, of: object): void {
  const own = Object.entries(of).filter(([name]) => name.startsWith('x-'));
  named(to, number, Object.fromEntries(own), (any, value) => text(any, 2, formatYaml(inOrder(value))));
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(members.map(([name, member]) => [name, inOrder(member)]));
}

/**
 * Schemas that have been encoded before what is around them: a message begins with its length, so that a large one could
 * not be encoded in steps otherwise.
 */
export type EncodedSchemas = WeakMap<JsonSchema, Uint8Array>;

/** Encodes the larger parts of a large schema, a step for each. */
export function* encodeInside(
  form: JsonSchema,
  encoded: EncodedSchemas,
  encode: (to: ProtobufWriter, form: JsonSchema) => void,
): Generator<undefined, void> {
  if (!isLarge(form)) return;
  const { additionalProperties, items, allOf = [], properties = {} } = form;
  for (const inner of [additionalProperties, items, ...allOf, ...Object.values(properties)]) {
    if (!inner || countValues(inner, smallValuesMax) <= smallValuesMax) continue;
    yield* encodeInside(inner, encoded, encode);
    encoded.set(
      inner,
      encodeWith((to) => encode(to, inner)),
    );
    yield;
  }
}

/** Smaller schemas are encoded with what is around them. */
const smallValuesMax = 10;

export function nestedSchema(
  to: ProtobufWriter,
  number: number,
  form: JsonSchema,
  encoded: EncodedSchemas,
  encode: (to: ProtobufWriter, form: JsonSchema) => void,
): void {
  const known = encoded.get(form);
  if (known) writeTag(to, number, delimited).bytes(known);
  else writeNested(to, number, (message) => encode(message, form));
}

/** Maps are lists of pairs in the messages of gnostic. `writeValue` writes the second field of a pair. */
export function pairs<T>(
  to: ProtobufWriter,
  number: number,
  all: Readonly<Record<string, T>>,
  writeValue: (pair: ProtobufWriter, value: T) => void,
): void {
  for (const [name, value] of Object.entries(all))
    writeNested(to, number, (pair) => {
      text(pair, 1, name);
      writeValue(pair, value);
    });
}

/** The same of messages. */
export const named = <T>(
  to: ProtobufWriter,
  number: number,
  all: Readonly<Record<string, T>>,
  write: (to: ProtobufWriter, value: T) => void,
): void => pairs(to, number, all, (pair, value) => writeNested(pair, 2, (message) => write(message, value)));

export function text(to: ProtobufWriter, number: number, value: string | undefined): void {
  if (value !== undefined) writeTag(to, number, delimited).string(value);
}

export function texts(to: ProtobufWriter, number: number, values: readonly string[] = []): void {
  for (const value of values) text(to, number, value);
}

export function flag(to: ProtobufWriter, number: number, value: boolean | undefined): void {
  if (value) writeTag(to, number, varint).bool(true);
}
