import { type JsonObject, isObjectOrRawNumber, requireList, requireObject } from '../json/json-object.ts';
import { invariant, setOwn, unreachable } from '@cluster-apiserver/base';
import { type Integer, isRawNumber, rawNumber } from '../json/raw-number.ts';
import { zero } from '../schema/decode.ts';
import type { Field, ListSchema, MapSchema, ObjectSchema, Schema } from '../schema/schema.ts';
import { parseJson } from '../json/json.ts';
import { type JsonBounds, scanJson, storedBounds, TooManyValuesError } from '../json/json-scan.ts';
import {
  delimited,
  encodeWith,
  writeNested,
  type Reader,
  type ReadField,
  readMessage,
  readNested,
  requireType,
  writeTag,
  varint,
  WireError,
  type ProtobufWriter,
} from './protobuf-wire.ts';

/**
 * Objects as protobuf messages, by the numbers of their schema's fields. What is written is canonical; what is read is
 * the value that the same object has as parsed JSON, so it is decoded, checked and made canonical like any other.
 */
export const encodeMessage = (schema: ObjectSchema, value: object): Uint8Array =>
  encodeWith((to) => writeObject(to, schema, requireObject(value)));

/** Entries of a list or map that are written in one step. */
const stepEntries = 256;
/** Deeper values are encoded in one step with the value around them. */
const stepLevels = 8;

/**
 * The same message in steps, for a value that is so large that encoding it at once would block the event loop. Yields
 * between the steps and returns the parts of the message.
 */
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
    if (held.type === 'object' && levels > 0) {
      parts.push(...delimitedParts(number, yield* messageParts(held, requireObject(given), levels - 1)));
    } else if (held.type === 'list' && held.items.type === 'object' && levels > 0) {
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
      for (const text of jsonTexts(given, stepLevels)) {
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

/** JSON.stringify in steps. */
function* jsonTexts(value: unknown, levels: number): Generator<string> {
  if (typeof value !== 'object' || value === null || isRawNumber(value) || levels === 0) {
    yield JSON.stringify(value);
    return;
  }
  const isList = Array.isArray(value);
  const members: readonly (readonly [string, unknown])[] = Object.entries(value);
  let separator = '';
  yield isList ? '[' : '{';
  for (const [key, member] of members) {
    yield isList ? separator : `${separator}${JSON.stringify(key)}:`;
    yield* jsonTexts(member, levels - 1);
    separator = ',';
  }
  yield isList ? ']' : '}';
}

/** Throws WireError, or an error of the reader, if the bytes are no message of this schema. */
export function decodeMessage(
  schema: ObjectSchema,
  message: Uint8Array,
  bounds = storedBounds,
): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  readMessage(message, fieldsInto(value, schema, { left: bounds.valuesMax, bounds }));
  return value;
}

/** How many values may still be read. */
interface Budget {
  left: number;
  readonly bounds: JsonBounds;
}

function spend(budget: Budget, values: number): void {
  budget.left -= values;
  if (budget.left < 0) throw new TooManyValuesError(budget.bounds.valuesMax);
}

function writeObject(to: ProtobufWriter, schema: ObjectSchema, value: JsonObject): void {
  for (const { name, number, schema: held } of schema.fields.values()) {
    const given = value[name];
    // Kind and apiVersion are part of the envelope, and not of the message.
    if (number === undefined || given === undefined || given === null) continue;
    if (held.type === 'list') writeItems(to, number, held, requireList(given));
    else if (held.type === 'map') writeMap(to, number, held, requireObject(given));
    else writeValue(to, number, held, given);
  }
  const { embedded } = schema;
  if (embedded) writeNested(to, embedded.number, (message) => writeObject(message, embedded.schema, value));
}

const writeMap = (to: ProtobufWriter, number: number, schema: MapSchema, map: JsonObject): void =>
  writeEntries(to, number, schema, map, Object.keys(map));

function writeEntries(
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

function writeItems(to: ProtobufWriter, number: number, { items }: ListSchema, list: readonly unknown[]): void {
  for (const item of list) writeValue(to, number, items, item);
}

function writeValue(to: ProtobufWriter, number: number, schema: Schema, value: unknown): void {
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
    case 'time':
    case 'microTime':
      writeNested(to, number, (time) => writeTime(time, requireText(value)));
      return;
    case 'object':
      writeNested(to, number, (object) => writeObject(object, schema, requireObject(value)));
      return;
    case 'any':
      writeNested(to, number, (any) => writeTag(any, 1, delimited).string(JSON.stringify(value)));
      return;
    case 'map':
    case 'list':
      invariant(false, 'a list of lists or maps has no place in protobuf');
  }
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

const byNumbers = new WeakMap<ObjectSchema, ReadonlyMap<number, Field>>();

function byNumber(schema: ObjectSchema): ReadonlyMap<number, Field> {
  let fields = byNumbers.get(schema);
  if (!fields) {
    fields = new Map([...schema.fields.values()].flatMap((field) => (field.number ? [[field.number, field]] : [])));
    byNumbers.set(schema, fields);
  }
  return fields;
}

/** A repeated field appends to lists and maps, is merged into objects, and otherwise replaces the value. */
function fieldsInto(value: Record<string, unknown>, schema: ObjectSchema, budget: Budget): ReadField {
  const fields = byNumber(schema);
  return (number, type, reader) => {
    const field = fields.get(number);
    if (!field) {
      const { embedded } = schema;
      if (number !== embedded?.number) return false;
      requireType(type, delimited, 'embedded fields');
      readNested(reader, fieldsInto(value, embedded.schema, budget));
      return true;
    }
    spend(budget, 1);
    const { name, schema: held } = field;
    requireType(type, wireType(held), name);
    if (held.type === 'list') listIn(value, name).push(readValue(reader, held.items, name, budget));
    else if (held.type === 'map') readEntry(reader, held, objectIn(value, name), budget);
    else if (held.type === 'object') readNested(reader, fieldsInto(objectIn(value, name), held, budget));
    else value[name] = readValue(reader, held, name, budget);
    return true;
  };
}

/** The list that this message has already, or a new one. */
function listIn(value: Record<string, unknown>, name: string): unknown[] {
  const known = value[name];
  if (Array.isArray(known)) return known;
  const list: unknown[] = [];
  value[name] = list;
  return list;
}

function objectIn(value: Record<string, unknown>, name: string): Record<string, unknown> {
  const known = value[name];
  if (isObjectOrRawNumber(known)) return known;
  const object: Record<string, unknown> = {};
  value[name] = object;
  return object;
}

function wireType(schema: Schema): typeof varint | typeof delimited {
  if (schema.type === 'list') return wireType(schema.items);
  return schema.type === 'boolean' || schema.type === 'int32' || schema.type === 'int64' ? varint : delimited;
}

function readEntry(reader: Reader, { values }: MapSchema, map: Record<string, unknown>, budget: Budget): void {
  let key = '';
  let value = zero(values);
  readNested(reader, (number, type) => {
    if (number > 2) return false;
    requireType(type, number === 1 ? delimited : mapValueType(values), 'the entry of a map');
    if (number === 1) key = reader.string();
    else value = readMapValue(reader, values, budget);
    return true;
  });
  setOwn(map, key, value);
}

const mapValueType = (values: Schema): ReturnType<typeof wireType> =>
  values.type === 'list' || values.type === 'map' ? delimited : wireType(values);

/** The opposite of `writeMapValue`. */
function readMapValue(reader: Reader, schema: Schema, budget: Budget): unknown {
  if (schema.type === 'list') return readItems(reader, schema, budget);
  if (schema.type !== 'map') return readValue(reader, schema, 'the entry of a map', budget);
  const map: Record<string, unknown> = {};
  readNested(reader, (number, type) => {
    if (number !== 1) return false;
    requireType(type, delimited, 'the map of a map');
    spend(budget, 1);
    readEntry(reader, schema, map, budget);
    return true;
  });
  return map;
}

/** The items of a list inside of a map. */
function readItems(reader: Reader, { items }: ListSchema, budget: Budget): unknown[] {
  const list: unknown[] = [];
  readNested(reader, (number, type) => {
    if (number !== 1) return false;
    requireType(type, wireType(items), 'the list of a map');
    spend(budget, 1);
    list.push(readValue(reader, items, 'the list of a map', budget));
    return true;
  });
  return list;
}

function readValue(reader: Reader, schema: Schema, name: string, budget: Budget): unknown {
  switch (schema.type) {
    case 'string':
      return reader.string();
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'boolean':
      return reader.bool();
    case 'int32':
    case 'int64':
      return readInteger(reader);
    case 'time':
      return readTime(reader, name, () => '');
    case 'microTime':
      return readTime(reader, name, (nanos) => `.${String(Math.floor(nanos / 1000)).padStart(6, '0')}`);
    case 'object': {
      const value: Record<string, unknown> = {};
      readNested(reader, fieldsInto(value, schema, budget));
      return value;
    }
    case 'any':
      return readJson(reader, name, budget);
    case 'map':
    case 'list':
      throw new WireError(`${name} holds what has no place in protobuf`);
    default:
      return unreachable(schema);
  }
}

/** A double where it is exact. */
function readInteger(reader: Reader): Integer {
  const long = reader.int64();
  const rounded = toDouble(long);
  if (Number.isSafeInteger(rounded)) return rounded;
  return rawNumber(String((BigInt(long.high) << 32n) + BigInt(long.low >>> 0)));
}

const toDouble = ({ high, low }: ReturnType<Reader['int64']>): number => high * 2 ** 32 + (low >>> 0);

/** The first second of year 0 and the last of year 9999, the range of RFC 3339. */
const secondsRange = [-62_167_219_200, 253_402_300_799] as const;

function readTime(reader: Reader, name: string, fraction: (nanos: number) => string): string | null {
  let set = false;
  let [seconds, nanos] = [0, 0];
  readNested(reader, (number, type) => {
    if (number > 2) return false;
    requireType(type, varint, name);
    set = true;
    if (number === 1) seconds = toDouble(reader.int64());
    else nanos = reader.int32();
    return true;
  });
  if (!set) return null;
  const [first, last] = secondsRange;
  if (seconds < first || seconds > last || nanos < 0 || nanos > 999_999_999) throw new WireError(`${name} is no time`);
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}${fraction(nanos)}Z`;
}

/** JSON inside a message of its own. */
function readJson(reader: Reader, name: string, budget: Budget): unknown {
  let text = '';
  readNested(reader, (number, type) => {
    if (number !== 1) return false;
    requireType(type, delimited, name);
    text = reader.string();
    return true;
  });
  if (text === '') return null;
  const scan = scanJson(text, { ...budget.bounds, valuesMax: budget.left });
  spend(budget, scan.values);
  return parseJson(text, () => scan).value;
}
