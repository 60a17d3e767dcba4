/**
 * Objects as protobuf messages, by the numbers of their schema's fields. What is written is canonical; what is read
 * (`protobuf-decoder.ts`) is the value that the same object has as parsed JSON, so it is decoded, checked and made canonical
 * like any other.
 */
import { invariant } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject, requireList, requireObject } from '../json/json-object.ts';
import { isRawNumber } from '../json/raw-number.ts';
import type { Field, ListSchema, MapSchema, ObjectSchema, Otherwise, Schema } from '../schema/schema.ts';
import { delimited, encodeWith, fixed64, type ProtobufWriter, varint, writeNested, writeTag } from './protobuf-wire.ts';

export const encodeMessage = (schema: ObjectSchema, value: object): Uint8Array =>
  encodeWith((to) => writeObject(to, schema, requireObject(value)));

function writeObject(to: ProtobufWriter, schema: ObjectSchema, value: JsonObject): void {
  for (const { name, number, schema: held } of numberedFields(schema)) {
    const given = value[name];
    if (given === undefined || given === null) continue;
    if (held.type === 'list') writeItems(to, number, held, requireList(given));
    else if (held.type === 'map') writeMap(to, number, held, requireObject(given));
    else writeValue(to, number, held, given);
  }
  const { embedded } = schema;
  if (embedded) writeNested(to, embedded.number, (message) => writeObject(message, embedded.schema, value));
}

type Numbered = Field & { readonly number: number };

const numbered = new WeakMap<ObjectSchema, readonly Numbered[]>();

/** In the order of their numbers, as Go writes them. Kind and apiVersion are part of the envelope, and have none. */
function numberedFields(schema: ObjectSchema): readonly Numbered[] {
  let fields = numbered.get(schema);
  if (!fields) {
    const all = [...schema.fields.values()].filter((each): each is Numbered => each.number !== undefined);
    numbered.set(schema, (fields = all.toSorted((one, other) => one.number - other.number)));
  }
  return fields;
}

const writeMap = (to: ProtobufWriter, number: number, schema: MapSchema, map: JsonObject): void =>
  writeEntries(to, number, schema, map, Object.keys(map));

export function writeEntries(
  to: ProtobufWriter,
  number: number,
  { values }: MapSchema,
  map: JsonObject,
  keys: readonly string[],
): void {
  for (const key of keys)
    writeNested(to, number, (entry) => {
      writeTag(entry, 1, delimited).string(key);
      writeMapValue(entry, values, map[key]);
    });
}

/** Every map value is the field with number 2. */
function writeMapValue(entry: ProtobufWriter, schema: Schema, value: unknown): void {
  // A map holds one value for each key, so a list or map in it is a message of its own, as Kubernetes declares them.
  if (schema.type === 'list') writeNested(entry, 2, (inner) => writeItems(inner, 1, schema, requireList(value)));
  else if (schema.type === 'map') writeNested(entry, 2, (inner) => writeMap(inner, 1, schema, requireObject(value)));
  else if (value !== null) writeValue(entry, 2, schema, value);
}

export function writeItems(to: ProtobufWriter, number: number, { items }: ListSchema, list: readonly unknown[]): void {
  for (const item of list) writeValue(to, number, items, item);
}

export function writeValue(to: ProtobufWriter, number: number, schema: Schema, value: unknown): void {
  switch (schema.type) {
    case 'string':
      writeTag(to, number, delimited).string(requireText(value));
      return;
    case 'bytes':
      writeTag(to, number, delimited).bytes(Buffer.from(requireText(value), 'base64'));
      return;
    case 'boolean':
      writeTag(to, number, varint).bool(value === true);
      return;
    case 'int32':
    case 'int64':
      writeTag(to, number, varint).int64(toWireInteger(value));
      return;
    case 'double':
      writeTag(to, number, fixed64).double(Number(value));
      return;
    case 'intOrString':
      writeNested(to, number, (message) => {
        writeTag(message, 1, varint).int32(typeof value === 'string' ? 1 : 0);
        if (typeof value === 'string') writeTag(message, 3, delimited).string(value);
        else writeTag(message, 2, varint).int32(Number(value));
      });
      return;
    case 'quantity':
      writeNested(to, number, (message) => writeTag(message, 1, delimited).string(requireText(value)));
      return;
    case 'time':
    case 'microTime':
      writeNested(to, number, (time) => writeTime(time, requireText(value)));
      return;
    case 'object':
      writeNested(to, number, (object) => {
        if (schema.otherwise) writeEither(object, schema, schema.otherwise, value);
        else writeObject(object, schema, requireObject(value));
      });
      return;
    case 'any':
      writeNested(to, number, (any) => writeTag(any, 1, delimited).string(JSON.stringify(value)));
      return;
    case 'map':
    case 'list':
      invariant(false, 'a list of lists or maps has no place in protobuf');
  }
}

function writeEither(
  to: ProtobufWriter,
  schema: ObjectSchema,
  { schema: other, number, objectNumber }: Otherwise,
  value: unknown,
): void {
  if (isJsonObject(value)) {
    // A schema for other members allows them, which Go says, too.
    if (other.type === 'boolean') writeValue(to, number, other, true);
    writeNested(to, objectNumber, (object) => writeObject(object, schema, value));
  } else if (other.type === 'list') writeItems(to, number, other, requireList(value));
  else writeValue(to, number, other, value);
}

function requireText(value: unknown): string {
  invariant(typeof value === 'string', 'a message would hold another text than the object');
  return value;
}

function toWireInteger(value: unknown): number | string {
  if (typeof value === 'number') return value;
  invariant(isRawNumber(value), 'a message would hold another number than the object');
  return value.rawJSON;
}

/** Zeros are written too: a message with nothing in it is the time that is not set. */
function writeTime(to: ProtobufWriter, text: string): void {
  const seconds = Date.parse(`${text.slice(0, 19)}Z`) / 1000;
  writeTag(to, 1, varint).int64(seconds);
  writeTag(to, 2, varint).int32(Number(text.slice(20, -1)) * 1000);
}
