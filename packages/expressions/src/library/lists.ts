import type { Budget } from '../run/budget.ts';
import { compare, equal } from '../values/equal.ts';
import { duration } from '../values/time.ts';
import { type Duration, EvaluationError, type Uint, type Value } from '../values/value.ts';
import { int, uint } from '../values/whole.ts';
import { fn, method, type Overload } from './overload.ts';

type List = readonly Value[];

/** Kubernetes' functions for lists, and for lists as sets. */
export const lists: readonly Overload[] = [
  ...['int', 'uint', 'double', 'bool', 'string', 'bytes', 'timestamp', 'duration'].flatMap((type) => [
    method(`list(${type})`, 'isSorted() -> bool', (list: List, budget: Budget) => {
      budget.charge(list.length);
      return list.every((element, index) => index === 0 || order(list[index - 1] as Value, element) <= 0);
    }),
    method(`list(${type})`, `min() -> ${type}`, (list: List, budget: Budget) => outermost(list, -1, budget)),
    method(`list(${type})`, `max() -> ${type}`, (list: List, budget: Budget) => outermost(list, 1, budget)),
  ]),
  method(
    'list(int)',
    'sum() -> int',
    summing((sum: bigint, next: bigint) => int(sum + next), 0n),
  ),
  method(
    'list(uint)',
    'sum() -> uint',
    summing((sum: Uint, next: Uint) => uint(sum.value + next.value), uint(0n)),
  ),
  method(
    'list(double)',
    'sum() -> double',
    summing((sum: number, next: number) => sum + next, 0),
  ),
  method(
    'list(duration)',
    'sum() -> duration',
    summing((sum: Duration, next: Duration) => duration(sum.nanoseconds + next.nanoseconds), duration(0n)),
  ),
  method('list(A)', 'indexOf(A) -> int', (list: List, wanted: Value, budget: Budget) => {
    budget.charge(list.length);
    return BigInt(list.findIndex((element) => equal(element, wanted, budget)));
  }),
  method('list(A)', 'lastIndexOf(A) -> int', (list: List, wanted: Value, budget: Budget) => {
    budget.charge(list.length);
    return BigInt(list.findLastIndex((element) => equal(element, wanted, budget)));
  }),
  fn('sets.contains(list(A), list(A)) -> bool', (list: List, part: List, budget: Budget) =>
    holdsAll(list, part, budget),
  ),
  fn(
    'sets.equivalent(list(A), list(A)) -> bool',
    (one: List, other: List, budget: Budget) => holdsAll(one, other, budget) && holdsAll(other, one, budget),
  ),
  fn('sets.intersects(list(A), list(A)) -> bool', (one: List, other: List, budget: Budget) =>
    one.some((element) => holds(other, element, budget)),
  ),
];

/** What a list of unknown values holds is seen only here. */
function order(one: Value, other: Value): number {
  const found = compare(one, other);
  if (found === undefined) throw new EvaluationError('no such overload: these have no order');
  return found;
}

function outermost(list: List, direction: 1 | -1, budget: Budget): Value {
  budget.charge(list.length);
  if (list.length === 0) throw new EvaluationError(`${direction < 0 ? 'min' : 'max'} called on empty list`);
  return list.reduce((best, element) => (order(element, best) * direction > 0 ? element : best));
}

function summing<T extends Value>(add: (sum: T, next: T) => T, nothing: T): Overload['run'] {
  return (list: readonly T[], budget: Budget): T => {
    budget.charge(list.length);
    if (list.some((element) => typeof element !== typeof nothing || element?.constructor !== nothing?.constructor))
      throw new EvaluationError('no such overload: only numbers of one type have a sum');
    return list.reduce(add, nothing);
  };
}

function holds(list: List, wanted: Value, budget: Budget): boolean {
  budget.charge(list.length);
  return list.some((element) => equal(element, wanted, budget));
}

const holdsAll = (list: List, part: List, budget: Budget): boolean =>
  part.every((element) => holds(list, element, budget));
