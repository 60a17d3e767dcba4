import type { Budget } from '../run/budget.ts';
import { formatDouble } from '../values/double.ts';
import type { MapValue } from '../values/map-value.ts';
import {
  formatDuration,
  formatTimestamp,
  parseDuration,
  parseTimestamp,
  perSecond,
  timestamp,
} from '../values/time.ts';
import { Duration, EvaluationError, type Timestamp, TypeValue, type Uint, type Value } from '../values/value.ts';
import { typeNameOf } from '../values/type-name.ts';
import { int, uint } from '../values/whole.ts';
import { fn, method, type Overload, withCost } from './overload.ts';
import { lengthOf } from './code-points.ts';

const same = <T extends Value>(value: T): T => value;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const conversions: readonly Overload[] = [
  fn('dyn(A) -> dyn', same),
  fn('type(A) -> type(A)', (value: Value) => new TypeValue(typeNameOf(value))),

  fn('bool(bool) -> bool', same),
  fn('bool(string) -> bool', (text: string) => {
    if (['1', 't', 'true', 'TRUE', 'True'].includes(text)) return true;
    if (['0', 'f', 'false', 'FALSE', 'False'].includes(text)) return false;
    throw new EvaluationError("type conversion error from 'string' to 'bool'");
  }),

  fn('int(int) -> int', same),
  fn('int(uint) -> int', ({ value }: Uint) => int(value)),
  fn('int(double) -> int', (value: number) => {
    // The outermost doubles round to bounds that an int does not have.
    if (!(Math.abs(value) < 2 ** 63)) throw new EvaluationError('integer overflow');
    return int(BigInt(Math.trunc(value)));
  }),
  fn('int(string) -> int', (text: string) => int(wholeIn(text, 'int'))),
  fn('int(timestamp) -> int', ({ nanoseconds }: Timestamp) => {
    const seconds = nanoseconds / perSecond;
    return nanoseconds % perSecond < 0n ? seconds - 1n : seconds;
  }),
  fn('int(duration) -> int', ({ nanoseconds }: Duration) => nanoseconds),

  fn('uint(uint) -> uint', same),
  fn('uint(int) -> uint', uint),
  fn('uint(double) -> uint', (value: number) => {
    if (!(value > -1 && value < 2 ** 64)) throw new EvaluationError('unsigned integer overflow');
    return uint(BigInt(Math.trunc(value)));
  }),
  fn('uint(string) -> uint', (text: string) => uint(wholeIn(text, 'uint'))),

  fn('double(double) -> double', same),
  fn('double(int) -> double', Number),
  fn('double(uint) -> double', ({ value }: Uint) => Number(value)),
  fn('double(string) -> double', doubleIn),

  fn('string(string) -> string', same),
  fn('string(bool) -> string', String),
  fn('string(int) -> string', String),
  fn('string(uint) -> string', ({ value }: Uint) => String(value)),
  fn('string(double) -> string', withCost(4, formatDouble)),
  fn('string(bytes) -> string', (bytes: Uint8Array) => {
    try {
      return utf8.decode(bytes);
    } catch (cause) {
      throw new EvaluationError('invalid UTF-8 in bytes, cannot convert to string', { cause });
    }
  }),
  fn('string(timestamp) -> string', formatTimestamp),
  fn('string(duration) -> string', formatDuration),

  fn('bytes(bytes) -> bytes', same),
  fn('bytes(string) -> bytes', (text: string) => Buffer.from(text)),

  fn('timestamp(timestamp) -> timestamp', same),
  fn('timestamp(string) -> timestamp', parseTimestamp),
  fn('timestamp(int) -> timestamp', (seconds: bigint) => timestamp(seconds * perSecond)),
  fn('duration(duration) -> duration', same),
  fn('duration(string) -> duration', parseDuration),
  fn('duration(int) -> duration', (nanoseconds: bigint) => new Duration(nanoseconds)),

  ...sizes('string', (text: string, budget: Budget) => lengthOf(text, budget)),
  ...sizes('bytes', (bytes: Uint8Array) => bytes.length),
  ...sizes('list(A)', (list: readonly Value[]) => list.length),
  ...sizes('map(A, B)', (map: MapValue) => map.size),
];

function sizes(type: string, count: (value: never, budget: Budget) => number): Overload[] {
  const run = (value: never, budget: Budget): bigint => BigInt(count(value, budget));
  return [fn(`size(${type}) -> int`, run), method(type, 'size() -> int', run)];
}

function wholeIn(text: string, type: string): bigint {
  // A text is as long as its sender likes, and reading digits takes more than linear time.
  if (!/^[-+]?\d{1,100}$/.test(text)) throw notConvertible(type);
  return BigInt(text.replace(/^\+/, ''));
}

const notConvertible = (type: string): EvaluationError =>
  new EvaluationError(`type conversion error from 'string' to '${type}'`);

function doubleIn(text: string): number {
  if (/^[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$/.test(text)) {
    if (!Number.isFinite(Number(text))) throw new EvaluationError('type conversion error: the number is too large');
    return Number(text);
  }
  const [, sign, name] = /^([-+]?)(nan|inf|infinity)$/i.exec(text) ?? [];
  if (name === undefined) throw notConvertible('double');
  return name.toLowerCase() === 'nan' ? Number.NaN : (sign === '-' ? -1 : 1) * Number.POSITIVE_INFINITY;
}
