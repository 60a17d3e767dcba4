import type { Budget } from '../run/budget.ts';
import { compare, equal } from '../values/equal.ts';
import {
  type Duration,
  EvaluationError,
  type MapValue,
  type Timestamp,
  type Uint,
  type Value,
} from '../values/value.ts';
import { createDuration, createTimestamp } from '../values/time.ts';
import { concatenate } from '../values/unordered-list.ts';
import { requireInt, requireUint } from '../values/whole.ts';
import { createUnplanned, defineFunction, type Overload } from './overload.ts';

export const operators: readonly Overload[] = [
  // Looked up and compared without dispatch; what stands here for them is their types.
  defineFunction('_==_(A, A) -> bool', equal),
  defineFunction('_!=_(A, A) -> bool', (left: Value, right: Value, budget: Budget) => !equal(left, right, budget)),
  ...['_[_]', '_[?_]'].flatMap((name) => {
    const gives = name === '_[_]' ? 'A' : 'optional(A)';
    return [
      defineFunction(`${name}(list(A), int) -> ${gives}`, createUnplanned),
      defineFunction(`${name}(map(B, A), B) -> ${gives}`, createUnplanned),
      defineFunction(`${name}(optional(list(A)), int) -> optional(A)`, createUnplanned),
      defineFunction(`${name}(optional(map(B, A)), B) -> optional(A)`, createUnplanned),
    ];
  }),

  defineFunction('!_(bool) -> bool', (value: boolean) => !value),
  defineFunction('-_(int) -> int', (value: bigint) => requireInt(-value)),
  defineFunction('-_(double) -> double', (value: number) => -value),

  ...arithmetic(
    '_+_',
    (a, b) => a + b,
    (a, b) => a + b,
  ),
  ...arithmetic(
    '_-_',
    (a, b) => a - b,
    (a, b) => a - b,
  ),
  ...arithmetic(
    '_*_',
    (a, b) => a * b,
    (a, b) => a * b,
  ),
  ...arithmetic(
    '_/_',
    (a, b) => a / nonZero(b, 'division'),
    (a, b) => a / b,
  ),
  ...arithmetic('_%_', (a, b) => a % nonZero(b, 'modulus')),

  defineFunction('_+_(string, string) -> string', (a: string, b: string) => a + b),
  defineFunction('_+_(bytes, bytes) -> bytes', (a: Uint8Array, b: Uint8Array) => Buffer.concat([a, b])),
  defineFunction('_+_(list(A), list(A)) -> list(A)', concatenate),
  defineFunction('_+_(timestamp, duration) -> timestamp', (a: Timestamp, b: Duration) =>
    createTimestamp(a.nanoseconds + b.nanoseconds),
  ),
  defineFunction('_+_(duration, timestamp) -> timestamp', (a: Duration, b: Timestamp) =>
    createTimestamp(a.nanoseconds + b.nanoseconds),
  ),
  defineFunction('_+_(duration, duration) -> duration', (a: Duration, b: Duration) =>
    createDuration(a.nanoseconds + b.nanoseconds),
  ),
  defineFunction('_-_(timestamp, timestamp) -> duration', (a: Timestamp, b: Timestamp) =>
    createDuration(a.nanoseconds - b.nanoseconds),
  ),
  defineFunction('_-_(timestamp, duration) -> timestamp', (a: Timestamp, b: Duration) =>
    createTimestamp(a.nanoseconds - b.nanoseconds),
  ),
  defineFunction('_-_(duration, duration) -> duration', (a: Duration, b: Duration) =>
    createDuration(a.nanoseconds - b.nanoseconds),
  ),

  ...ordering('_<_', (order) => order < 0),
  ...ordering('_<=_', (order) => order <= 0),
  ...ordering('_>_', (order) => order > 0),
  ...ordering('_>=_', (order) => order >= 0),

  defineFunction('@in(A, list(A)) -> bool', (wanted: Value, list: readonly Value[], budget: Budget) => {
    budget.charge(list.length);
    return list.some((element) => equal(wanted, element, budget));
  }),
  defineFunction('@in(A, map(A, B)) -> bool', (key: Value, map: MapValue) => map.get(key) !== undefined),
];

function arithmetic(
  name: string,
  whole: (left: bigint, right: bigint) => bigint,
  double?: (left: number, right: number) => number,
): Overload[] {
  return [
    defineFunction(`${name}(int, int) -> int`, (left: bigint, right: bigint) => requireInt(whole(left, right))),
    defineFunction(`${name}(uint, uint) -> uint`, (left: Uint, right: Uint) =>
      requireUint(whole(left.value, right.value)),
    ),
    ...(double ? [defineFunction(`${name}(double, double) -> double`, double)] : []),
  ];
}

function nonZero(value: bigint, what: string): bigint {
  if (value === 0n) throw new EvaluationError(`${what} by zero`);
  return value;
}

/** Numbers of different types have one order; it is only sameness for which the checker wants one type. */
function ordering(name: string, holds: (order: number) => boolean): Overload[] {
  const numbers = ['int', 'uint', 'double'];
  const pairs = [
    ...numbers.flatMap((left) => numbers.map((right) => `${left}, ${right}`)),
    ...['bool', 'string', 'bytes', 'timestamp', 'duration'].map((type) => `${type}, ${type}`),
  ];
  return pairs.map((pair) =>
    defineFunction(`${name}(${pair}) -> bool`, (left: Value, right: Value) => {
      const order = compare(left, right);
      // Nothing is less than NaN, nor is it less than anything.
      return order !== undefined && holds(order);
    }),
  );
}
