/** The canonical values of types that hold no others. */
import { unreachable } from '@cluster-apiserver/base';
import { type Integer, integerOf, isRawNumber, numberOf, type RawNumber, rawNumber } from '../json/raw-number.ts';
import { parseQuantity } from '../quantity.ts';
import { parseMicroTime, parseTime } from '../time.ts';
import { decodeBase64 } from './base64.ts';

export type ScalarType =
  | 'bytes'
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'double'
  | 'intOrString'
  | 'quantity'
  | 'time'
  | 'microTime';

/** Makes the error that says what is wrong with the value. */
type Fail = (problem: string) => Error;

export function decodeScalar(type: ScalarType, value: unknown, fail: Fail): unknown {
  switch (type) {
    case 'bytes':
      return decodeBytes(value, fail);
    case 'boolean':
      if (typeof value !== 'boolean') throw fail(wrongType('true or false', value));
      return value;
    case 'int32':
    case 'int64':
      return decodeInteger(type, value, fail);
    case 'double':
      return decodeDouble(value, fail);
    case 'intOrString':
      if (typeof value !== 'string' && typeof value !== 'number' && !isRawNumber(value))
        throw fail(wrongType('a whole number or a string', value));
      return typeof value === 'string' ? value : decodeInteger('int32', value, fail);
    case 'quantity':
      return decodeQuantity(value, fail);
    case 'time':
    case 'microTime':
      return decodeTime(type, value, fail);
    default:
      return unreachable(type);
  }
}

/** As Go reads a number without a schema: an int64 if it is written as one, and a double otherwise. */
export function decodeNumber(number: RawNumber, fail: Fail): Integer {
  const text = number.rawJSON;
  if (text.length <= integerCharactersMax && wholeNumber.test(text)) {
    const exact = BigInt(text);
    if (BigInt.asIntN(64, exact) === exact) return integerOf(exact);
  }
  return decodeDouble(number, fail);
}

export const wrongType = (wanted: string, got: unknown): string => `expected ${wanted}, got ${describeType(got)}`;

function decodeBytes(value: unknown, fail: Fail): string {
  if (typeof value !== 'string') throw fail(wrongType('bytes in base64', value));
  const bytes = decodeBase64(value);
  if (!bytes) throw fail('expected bytes in base64, got another string');
  return bytes.toString('base64');
}

function decodeTime(type: 'time' | 'microTime', value: unknown, fail: Fail): string | null {
  if (typeof value !== 'string') throw fail(wrongType('a time as a string', value));
  const parsed = type === 'time' ? parseTime(value) : parseMicroTime(value);
  if (parsed !== undefined) return parsed;
  throw fail(`${JSON.stringify(value.slice(0, timeCharactersMax))} is not a time like ${timeExamples[type]}`);
}

function decodeInteger(type: 'int32' | 'int64', value: unknown, fail: Fail): Integer {
  const text = isRawNumber(value) ? value.rawJSON : typeof value === 'number' ? String(value) : undefined;
  if (text === undefined) throw fail(wrongType('a whole number', value));
  if (typeof value === 'number' && Number.isSafeInteger(value) && (type === 'int64' || value === (value | 0)))
    return value === 0 ? 0 : value;
  const shown = text.length > integerCharactersMax ? `${text.slice(0, integerCharactersMax)}…` : text;
  if (!wholeNumber.test(text)) throw fail(`expected a whole number without a fraction or an exponent, got ${shown}`);
  const [least, most] = integerLimits[type];
  const exact = text.length > integerCharactersMax ? undefined : BigInt(text);
  if (exact === undefined || exact < least || exact > most) throw fail(`${shown} does not fit into ${type}`);
  return Number.isSafeInteger(Number(exact)) ? Number(exact) : rawNumber(exact.toString());
}

function decodeDouble(value: unknown, fail: Fail): number {
  if (typeof value !== 'number' && !isRawNumber(value)) throw fail(wrongType('a number', value));
  const rounded = numberOf(value);
  if (!Number.isFinite(rounded)) throw fail('the number is beyond those that a double can hold');
  // Minus zero has no JSON of its own.
  return rounded === 0 ? 0 : rounded;
}

function decodeQuantity(value: unknown, fail: Fail): string {
  if (typeof value !== 'string' && typeof value !== 'number' && !isRawNumber(value))
    throw fail(wrongType('a quantity', value));
  const text = typeof value === 'string' ? value.trim() : isRawNumber(value) ? value.rawJSON : String(value);
  const parsed = parseQuantity(text);
  if (!parsed)
    throw fail(`${JSON.stringify(text.slice(0, quantityCharactersMax))} is not a quantity like 500m or 1.5Gi`);
  return parsed.toString();
}

const wholeNumber = /^-?[0-9]+$/;

/** More than any time has. */
const timeCharactersMax = 64;

/** As much of a text that is no quantity as shows what it is. */
const quantityCharactersMax = 64;

const timeExamples = { time: '2026-01-31T12:00:00Z', microTime: '2026-01-31T12:00:00.000000Z' };

/** More than an int64 has; in JSON no number begins with zeros. */
const integerCharactersMax = 32;

const integerLimits = { int32: [-(2n ** 31n), 2n ** 31n - 1n], int64: [-(2n ** 63n), 2n ** 63n - 1n] } as const;

function describeType(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (isRawNumber(value)) return 'a number';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
