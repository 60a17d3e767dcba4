import { setOwn, unreachable } from '@cluster-apiserver/base';
import { isJsonObject } from '../json/json-object.ts';
import { type Integer, isRawNumber, rawNumber } from '../json/raw-number.ts';
import { parseMicroTime, parseTime } from '../time.ts';
import { decodeBase64 } from './base64.ts';
import type { Field, ListSchema, MapSchema, ObjectSchema, Schema } from './schema.ts';

/**
 * Turns parsed JSON into the canonical value of a schema: fields in the schema's order, nothing that the schema does
 * not name, nothing empty, the keys of maps sorted, times in UTC. Equal objects have equal canonical JSON, so equality is a comparison of bytes.
 */
export function decode<Value>(
  schema: ObjectSchema<Value>,
  value: unknown,
  unknownField: (path: string) => void,
): Value {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Value` is derived from the fields that the value is built by
  return decodeObject(schema, value, '', unknownField) as Value;
}

/** A value of a type that its field does not take. */
export class WrongTypeError extends Error {
  override readonly name = 'WrongTypeError';
  constructor(path: string, problem: string) {
    super(`${path === '' ? 'the object' : path}: ${problem}`);
  }
}

type Report = (path: string) => void;

function decodeObject(
  schema: ObjectSchema,
  value: unknown,
  path: string,
  unknownField: Report,
): Record<string, unknown> {
  const source = value === null || value === undefined ? {} : value;
  if (!isJsonObject(source)) throw wrongType(path, 'an object', value);
  for (const key in source) if (!schema.fields.has(key)) unknownField(join(path, key));
  const out: Record<string, unknown> = {};
  for (const field of schema.fields.values()) {
    // No field has the name of something that objects inherit.
    const raw = source[field.name];
    if (raw === undefined && !isAlwaysShown(field)) continue;
    const decoded = decodeField(field, raw, path, unknownField);
    if (decoded !== undefined) out[field.name] = decoded;
  }
  return out;
}

const isAlwaysShown = ({ presence }: Field): boolean => presence === 'always' || presence === 'nullIfEmpty';

function decodeField(field: Field, raw: unknown, parent: string, unknownField: Report): unknown {
  const { presence, schema } = field;
  if (raw === null || raw === undefined)
    return presence === 'always' ? zero(schema) : presence === 'nullIfEmpty' ? null : undefined;
  const value = decodeValue(schema, raw, join(parent, field.name), unknownField);
  if (presence === 'given' || presence === 'always' || !isEmpty(schema, value)) return value;
  return presence === 'nullIfEmpty' ? null : undefined;
}

function decodeValue(schema: Schema, value: unknown, path: string, unknownField: Report): unknown {
  switch (schema.type) {
    case 'string':
      if (typeof value !== 'string') throw wrongType(path, 'a string', value);
      return value;
    case 'bytes':
      if (typeof value !== 'string') throw wrongType(path, 'bytes in base64', value);
      return toCanonicalBase64(value, path);
    case 'boolean':
      if (typeof value !== 'boolean') throw wrongType(path, 'true or false', value);
      return value;
    case 'int32':
    case 'int64':
      return decodeInteger(schema.type, value, path);
    case 'time':
    case 'microTime': {
      if (typeof value !== 'string') throw wrongType(path, 'a time as a string', value);
      const parsed = schema.type === 'time' ? parseTime(value) : parseMicroTime(value);
      if (parsed === undefined)
        throw new WrongTypeError(
          path,
          `${JSON.stringify(value.slice(0, timeCharactersMax))} is not a time like ${timeExamples[schema.type]}`,
        );
      return parsed;
    }
    case 'map':
      return decodeMap(schema, value, path, unknownField);
    case 'list':
      return decodeList(schema, value, path, unknownField);
    case 'object':
      return decodeObject(schema, value, path, unknownField);
    case 'any':
      return value;
    default:
      return unreachable(schema);
  }
}

function toCanonicalBase64(text: string, path: string): string {
  const bytes = decodeBase64(text);
  if (!bytes) throw new WrongTypeError(path, 'expected bytes in base64, got another string');
  return bytes.toString('base64');
}

/** More than any time has. */
const timeCharactersMax = 64;

const timeExamples = { time: '2026-01-31T12:00:00Z', microTime: '2026-01-31T12:00:00.000000Z' };

function decodeMap({ values }: MapSchema, value: unknown, path: string, unknownField: Report): Record<string, unknown> {
  if (!isJsonObject(value)) throw wrongType(path, `an object of ${values.type}s`, value);
  // The order of keys has no meaning, so canonical maps are sorted.
  const keys = Object.keys(value).sort();
  if (keys.length === 0) return emptyMap;
  const out: Record<string, unknown> = {};
  const isText = values.type === 'string';
  for (const key of keys) {
    const entry = value[key];
    // Most maps are of strings: no path is built for each.
    if (isText && typeof entry === 'string') setOwn(out, key, entry);
    else setOwn(out, key, entry === null ? zero(values) : decodeValue(values, entry, join(path, key), unknownField));
  }
  return out;
}

/** A single instance, since counting the keys of a large map takes milliseconds. */
const emptyMap: Record<string, unknown> = Object.freeze({});

function decodeList(schema: ListSchema, value: unknown, path: string, unknownField: Report): unknown[] {
  if (!Array.isArray(value)) throw wrongType(path, 'a list', value);
  return value.map((entry: unknown, index) =>
    entry === null ? zero(schema.items) : decodeValue(schema.items, entry, `${path}[${index}]`, unknownField),
  );
}

/** More than an int64 has; in JSON no number begins with zeros. */
const integerCharactersMax = 32;

const integerLimits = { int32: [-(2n ** 31n), 2n ** 31n - 1n], int64: [-(2n ** 63n), 2n ** 63n - 1n] } as const;

function decodeInteger(type: 'int32' | 'int64', value: unknown, path: string): Integer {
  const text = isRawNumber(value) ? value.rawJSON : typeof value === 'number' ? String(value) : undefined;
  if (text === undefined) throw wrongType(path, 'a whole number', value);
  if (typeof value === 'number' && Number.isSafeInteger(value) && (type === 'int64' || value === (value | 0)))
    return value === 0 ? 0 : value;
  const shown = text.length > integerCharactersMax ? `${text.slice(0, integerCharactersMax)}…` : text;
  if (!/^-?[0-9]+$/.test(text))
    throw new WrongTypeError(path, `expected a whole number without a fraction or an exponent, got ${shown}`);
  const [least, most] = integerLimits[type];
  const exact = text.length > integerCharactersMax ? undefined : BigInt(text);
  if (exact === undefined || exact < least || exact > most)
    throw new WrongTypeError(path, `${shown} does not fit into ${type}`);
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : rawNumber(exact.toString());
}

/** The value of an unset field that is part of a response all the same. */
export function zero(schema: Schema): unknown {
  switch (schema.type) {
    case 'string':
    case 'bytes':
      return '';
    case 'boolean':
      return false;
    case 'int32':
    case 'int64':
      return 0;
    case 'time':
    case 'microTime':
      return null;
    case 'list':
      return [];
    case 'object':
      return decodeObject(schema, undefined, '', () => {});
    case 'map':
    case 'any':
      return {};
    default:
      return unreachable(schema);
  }
}

function isEmpty(schema: Schema, value: unknown): boolean {
  if (value === '' || value === 0 || value === null || value === false) return true;
  switch (schema.type) {
    case 'list':
      return Array.isArray(value) && value.length === 0;
    case 'map':
      return value === emptyMap;
    default:
      return false;
  }
}

const join = (parent: string, name: string): string => (parent === '' ? name : `${parent}.${name}`);

function wrongType(path: string, wanted: string, got: unknown): WrongTypeError {
  const kind =
    got === null || got === undefined
      ? 'null'
      : Array.isArray(got)
        ? 'a list'
        : isRawNumber(got) || typeof got === 'number'
          ? 'a number'
          : typeof got === 'object'
            ? 'an object'
            : `a ${typeof got}`;
  return new WrongTypeError(path, `expected ${wanted}, got ${kind}`);
}
