import type { Budget } from '../run/budget.ts';
import { formatDouble } from '../values/double.ts';
import {
  Duration,
  EvaluationError,
  type MapValue,
  type Timestamp,
  TypeValue,
  type Uint,
  type Value,
} from '../values/value.ts';
import {
  formatDuration,
  formatTimestamp,
  parseDuration,
  parseTimestamp,
  perSecond,
  createTimestamp,
} from '../values/time.ts';
import { typeNameOf } from '../values/type-name.ts';
import { requireInt, requireUint } from '../values/whole.ts';
import { defineFunction, defineMethod, type Overload, withCost } from './overload.ts';
import { lengthOf } from './code-points.ts';

const same = <T extends Value>(value: T): T => value;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const conversions: readonly Overload[] = [
  defineFunction('dyn(A) -> dyn', same),
  defineFunction('type(A) -> type(A)', (value: Value) => new TypeValue(typeNameOf(value))),

  defineFunction('bool(bool) -> bool', same),
  defineFunction('bool(string) -> bool', (text: string) => {
    if (['1', 't', 'true', 'TRUE', 'True'].includes(text)) return true;
    if (['0', 'f', 'false', 'FALSE', 'False'].includes(text)) return false;
    throw new EvaluationError("type conversion error from 'string' to 'bool'");
  }),

  defineFunction('int(int) -> int', same),
  defineFunction('int(uint) -> int', ({ value }: Uint) => requireInt(value)),
  defineFunction('int(double) -> int', (value: number) => {
    // The outermost doubles round to bounds that an int does not have.
    if (!(Math.abs(value) < 2 ** 63)) throw new EvaluationError('integer overflow');
    return requireInt(BigInt(Math.trunc(value)));
  }),
  defineFunction('int(string) -> int', (text: string) => requireInt(wholeIn(text, 'int'))),
  defineFunction('int(timestamp) -> int', ({ nanoseconds }: Timestamp) => {
    const seconds = nanoseconds / perSecond;
    return nanoseconds % perSecond < 0n ? seconds - 1n : seconds;
  }),
  defineFunction('int(duration) -> int', ({ nanoseconds }: Duration) => nanoseconds),

  defineFunction('uint(uint) -> uint', same),
  defineFunction('uint(int) -> uint', requireUint),
  defineFunction('uint(double) -> uint', (value: number) => {
    if (!(value > -1 && value < 2 ** 64)) throw new EvaluationError('unsigned integer overflow');
    return requireUint(BigInt(Math.trunc(value)));
  }),
  defineFunction('uint(string) -> uint', (text: string) => requireUint(wholeIn(text, 'uint'))),

  defineFunction('double(double) -> double', same),
  defineFunction('double(int) -> double', Number),
  defineFunction('double(uint) -> double', ({ value }: Uint) => Number(value)),
  defineFunction('double(string) -> double', doubleIn),

  defineFunction('string(string) -> string', same),
  defineFunction('string(bool) -> string', String),
  defineFunction('string(int) -> string', String),
  defineFunction('string(uint) -> string', ({ value }: Uint) => String(value)),
  defineFunction('string(double) -> string', withCost(4, formatDouble)),
  defineFunction('string(bytes) -> string', (bytes: Uint8Array) => {
    try {
      return utf8.decode(bytes);
    } catch (cause) {
      throw new EvaluationError('invalid UTF-8 in bytes, cannot convert to string', { cause });
    }
  }),
  defineFunction('string(timestamp) -> string', formatTimestamp),
  defineFunction('string(duration) -> string', formatDuration),

  defineFunction('bytes(bytes) -> bytes', same),
  defineFunction('bytes(string) -> bytes', (text: string) => Buffer.from(text)),

  defineFunction('timestamp(timestamp) -> timestamp', same),
  defineFunction('timestamp(string) -> timestamp', parseTimestamp),
  defineFunction('timestamp(int) -> timestamp', (seconds: bigint) => createTimestamp(seconds * perSecond)),
  defineFunction('duration(duration) -> duration', same),
  defineFunction('duration(string) -> duration', parseDuration),
  defineFunction('duration(int) -> duration', (nanoseconds: bigint) => new Duration(nanoseconds)),

  ...sizes('string', (text: string, budget: Budget) => lengthOf(text, budget)),
  ...sizes('bytes', (bytes: Uint8Array) => bytes.length),
  ...sizes('list(A)', (list: readonly Value[]) => list.length),
  ...sizes('map(A, B)', (map: MapValue) => map.size),
];

function sizes(type: string, count: (value: never, budget: Budget) => number): Overload[] {
  const run = (value: never, budget: Budget): bigint => BigInt(count(value, budget));
  return [defineFunction(`size(${type}) -> int`, run), defineMethod(type, 'size() -> int', run)];
}

function wholeIn(text: string, type: string): bigint {
  // A text is as long as its sender likes, and reading digits takes more than linear time.
  if (!/^[-+]?\d{1,100}$/.test(text)) throw createConversionError(type);
  return BigInt(text.replace(/^\+/, ''));
}

const createConversionError = (type: string): EvaluationError =>
  new EvaluationError(`type conversion error from 'string' to '${type}'`);

function doubleIn(text: string): number {
  if (/^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) {
    if (!Number.isFinite(Number(text))) throw new EvaluationError('type conversion error: the number is too large');
    return Number(text);
  }
  const [, sign, name] = /^([-+]?)(nan|inf|infinity)$/i.exec(text) ?? [];
  if (name === undefined) throw createConversionError('double');
  return name.toLowerCase() === 'nan' ? Number.NaN : (sign === '-' ? -1 : 1) * Number.POSITIVE_INFINITY;
}
