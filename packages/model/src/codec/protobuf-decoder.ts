/** Protobuf messages as objects, by the numbers of their schema's fields. The opposite of `protobuf-encoder.ts`. */
import { setOwn, unreachable } from '@cluster-apiserver/base';
import { parseJson } from '../json/json.ts';
import { isObjectOrRawNumber } from '../json/json-object.ts';
import { type JsonBounds, scanJson, storedBounds, TooManyValuesError } from '../json/json-scan.ts';
import { type Integer, rawNumber } from '../json/raw-number.ts';
import { zero } from '../schema/decode.ts';
import type { Field, ListSchema, MapSchema, ObjectSchema, Otherwise, Schema } from '../schema/schema.ts';
import {
  delimited,
  FieldBudget,
  fixed64,
  type Reader,
  type ReadField,
  readMessage,
  readNested,
  requireType,
  varint,
  WireError,
  type WireType,
} from './protobuf-wire.ts';

/** Throws WireError, or an error of the reader, if the bytes are no message of this schema. */
export function decodeMessage(
  schema: ObjectSchema,
  message: Uint8Array,
  bounds = storedBounds,
): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  const budget: Budget = { left: bounds.valuesMax, bounds, fields: new FieldBudget(bounds) };
  readMessage(message, budget.fields, fieldsInto(value, schema, budget));
  return value;
}

/** How many values may still be read. */
interface Budget {
  left: number;
  readonly bounds: JsonBounds;
  readonly fields: FieldBudget;
}

function spend(budget: Budget, values: number): void {
  budget.left -= values;
  if (budget.left < 0) throw new TooManyValuesError(budget.bounds.valuesMax);
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
      readNested(reader, budget.fields, fieldsInto(value, embedded.schema, budget));
      return true;
    }
    const { name, schema: held } = field;
    requireType(type, wireType(held), name);
    if (held.type === 'list') listIn(value, name).push(readValue(reader, held.items, name, budget));
    else if (held.type === 'map') readEntry(reader, held, objectIn(value, name), budget);
    else if (held.type === 'object' && !held.otherwise)
      readNested(reader, budget.fields, fieldsInto(objectIn(value, name), held, budget));
    else {
      const scalar = readValue(reader, held, name, budget);
      value[name] = scalar;
      if (isUnset(scalar)) return true;
    }
    spend(budget, 1);
    return true;
  };
}

/** Go writes fields that are not set, too: a reference to a secret has six of them, which no JSON has. */
const isUnset = (value: unknown): boolean => value === '' || value === 0 || value === false;

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

function wireType(schema: Schema): WireType {
  if (schema.type === 'list') return wireType(schema.items);
  if (schema.type === 'double') return fixed64;
  return schema.type === 'boolean' || schema.type === 'int32' || schema.type === 'int64' ? varint : delimited;
}

function readEntry(reader: Reader, { values }: MapSchema, map: Record<string, unknown>, budget: Budget): void {
  let key = '';
  let value = zero(values);
  readNested(reader, budget.fields, (number, type) => {
    if (number > 2) return false;
    requireType(type, number === 1 ? delimited : mapValueType(values), 'the entry of a map');
    if (number === 1) key = reader.string();
    else value = readMapValue(reader, values, budget);
    return true;
  });
  setOwn(map, key, value);
}

const mapValueType = (values: Schema): WireType =>
  values.type === 'list' || values.type === 'map' ? delimited : wireType(values);

/** The opposite of `writeMapValue`. */
function readMapValue(reader: Reader, schema: Schema, budget: Budget): unknown {
  if (schema.type === 'list') return readItems(reader, schema, budget);
  if (schema.type !== 'map') return readValue(reader, schema, 'the entry of a map', budget);
  const map: Record<string, unknown> = {};
  readNested(reader, budget.fields, (number, type) => {
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
  readNested(reader, budget.fields, (number, type) => {
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
      // The lower 32 bits, as every decoder of protobuf reads them.
      return reader.int32();
    case 'int64':
      return readInteger(reader);
    case 'double':
      return reader.double();
    case 'intOrString':
      return readIntOrString(reader, name, budget);
    case 'quantity':
      return readNestedText(reader, name, budget) || '0';
    case 'time':
      return readTime(reader, name, budget, false);
    case 'microTime':
      return readTime(reader, name, budget, true);
    case 'object': {
      if (schema.otherwise) return readEither(reader, schema, schema.otherwise, name, budget);
      const value: Record<string, unknown> = {};
      readNested(reader, budget.fields, fieldsInto(value, schema, budget));
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

/** The object, if there is one. */
function readEither(
  reader: Reader,
  schema: ObjectSchema,
  { schema: other, number: otherNumber, objectNumber }: Otherwise,
  name: string,
  budget: Budget,
): unknown {
  let object: Record<string, unknown> | undefined;
  let value: unknown;
  const items: unknown[] = [];
  readNested(reader, budget.fields, (number, type) => {
    if (number !== otherNumber && number !== objectNumber) return false;
    requireType(type, number === objectNumber ? delimited : wireType(other), name);
    spend(budget, 1);
    if (number === objectNumber) readNested(reader, budget.fields, fieldsInto((object ??= {}), schema, budget));
    else if (other.type !== 'list') value = readValue(reader, other, name, budget);
    else items.push(readValue(reader, other.items, name, budget));
    return true;
  });
  return object ?? value ?? (other.type === 'list' ? items : zero(other));
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

/**
 * As kube-apiserver reads them: a time has no part of a second, and that of a microTime may be negative or longer than a
 * second.
 */
function readTime(reader: Reader, name: string, budget: Budget, hasMicros: boolean): string | null {
  let set = false;
  let [whole, nanos] = [0, 0];
  readNested(reader, budget.fields, (number, type) => {
    if (number > 2) return false;
    requireType(type, varint, name);
    set = true;
    if (number === 1) whole = toDouble(reader.int64());
    else nanos = reader.int32();
    return true;
  });
  if (!set) return null;
  const micros = hasMicros ? Math.trunc(nanos / 1000) : 0;
  const seconds = whole + Math.floor(micros / microsPerSecond);
  const [first, last] = secondsRange;
  if (seconds < first || seconds > last) throw new WireError(`${name} is no time`);
  const fraction = String(micros - (seconds - whole) * microsPerSecond).padStart(6, '0');
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}${hasMicros ? `.${fraction}` : ''}Z`;
}

const microsPerSecond = 1_000_000;

/** The text inside a message of its own. */
function readNestedText(reader: Reader, name: string, budget: Budget): string {
  let text = '';
  readNested(reader, budget.fields, (number, type) => {
    if (number !== 1) return false;
    requireType(type, delimited, name);
    text = reader.string();
    return true;
  });
  return text;
}

/** Which of its members counts is the first field of the message. */
function readIntOrString(reader: Reader, name: string, budget: Budget): number | string {
  let isText = false;
  let whole = 0;
  let text = '';
  readNested(reader, budget.fields, (number, type) => {
    if (number > 3) return false;
    requireType(type, number === 3 ? delimited : varint, name);
    if (number === 1) isText = reader.int64().low === 1;
    else if (number === 2) whole = reader.int32();
    else text = reader.string();
    return true;
  });
  return isText ? text : whole;
}

function readJson(reader: Reader, name: string, budget: Budget): unknown {
  const text = readNestedText(reader, name, budget);
  if (text === '') return null;
  const scan = scanJson(text, { ...budget.bounds, valuesMax: budget.left });
  spend(budget, scan.values);
  return parseJson(text, () => scan).value;
}
