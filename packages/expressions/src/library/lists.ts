import type { Budget } from '../run/budget.ts';
import { compare, equal } from '../values/equal.ts';
import { createDuration } from '../values/time.ts';
import { Duration, EvaluationError, Optional, Uint, type Value } from '../values/value.ts';
import { requireInt, requireUint } from '../values/whole.ts';
import { defineFunction, defineMethod, type Overload } from './overload.ts';

type List = readonly Value[];

/** Kubernetes' functions for lists, and for lists as sets. */
export const lists: readonly Overload[] = [
  ...['int', 'uint', 'double', 'bool', 'string', 'bytes', 'timestamp', 'duration'].flatMap((type) => [
    defineMethod(`list(${type})`, 'isSorted() -> bool', isSorted),
    defineMethod(`list(${type})`, `sort() -> list(${type})`, (list: List, budget: Budget) =>
      sortByKeys(
        list.map((element) => [element, element]),
        budget,
      ),
    ),
    defineMethod(`list(${type})`, `min() -> ${type}`, (list: List, budget: Budget) => outermost(list, -1, budget)),
    defineMethod(`list(${type})`, `max() -> ${type}`, (list: List, budget: Budget) => outermost(list, 1, budget)),
  ]),
  ...(['int', 'uint', 'double', 'duration'] as const).map((type) =>
    defineMethod(`list(${type})`, `sum() -> ${type}`, (list: List, budget: Budget) => {
      budget.charge(list.length);
      return list.length === 0 ? zeros[type] : list.reduce(addNumbers);
    }),
  ),
  defineMethod('list(A)', 'indexOf(A) -> int', (list: List, wanted: Value, budget: Budget) => {
    budget.charge(list.length);
    return BigInt(list.findIndex((element) => equal(element, wanted, budget)));
  }),
  defineMethod('list(A)', 'lastIndexOf(A) -> int', (list: List, wanted: Value, budget: Budget) => {
    budget.charge(list.length);
    return BigInt(list.findLastIndex((element) => equal(element, wanted, budget)));
  }),
  defineMethod('list(A)', 'slice(int, int) -> list(A)', slice),
  defineMethod('list(list(A))', 'flatten() -> list(A)', (list: List, budget: Budget) => flatten(list, 1n, budget)),
  defineMethod('list(dyn)', 'flatten(int) -> list(dyn)', flatten),
  defineMethod('list(A)', 'reverse() -> list(A)', (list: List, budget: Budget) => {
    budget.charge(list.length);
    return list.toReversed();
  }),
  defineMethod('list(A)', 'distinct() -> list(A)', removeDuplicates),
  defineMethod('list(A)', 'first() -> optional(A)', (list: List) => new Optional(list[0])),
  defineMethod('list(A)', 'last() -> optional(A)', (list: List) => new Optional(list.at(-1))),
  defineFunction('lists.range(int) -> list(int)', (length: bigint, budget: Budget) => {
    const count = Math.max(Number(length), 0);
    budget.charge(2 * count);
    return Array.from({ length: count }, (_, index) => BigInt(index));
  }),
  defineFunction('sets.contains(list(A), list(A)) -> bool', (list: List, part: List, budget: Budget) =>
    holdsAll(list, part, budget),
  ),
  defineFunction(
    'sets.equivalent(list(A), list(A)) -> bool',
    (one: List, other: List, budget: Budget) => holdsAll(one, other, budget) && holdsAll(other, one, budget),
  ),
  defineFunction('sets.intersects(list(A), list(A)) -> bool', (one: List, other: List, budget: Budget) =>
    one.some((element) => holds(other, element, budget)),
  ),
];

/** What a list of unknown values holds is seen only here. Texts are compared up to where they differ. */
function order(one: Value, other: Value, budget: Budget): number {
  if (typeof one === 'string' && typeof other === 'string')
    budget.charge(Math.floor(Math.min(one.length, other.length) / 8));
  const found = compare(one, other);
  if (found === undefined) throw new EvaluationError('no such overload');
  return found;
}

function isSorted(list: List, budget: Budget): boolean {
  budget.charge(list.length);
  let previous: Value | undefined;
  for (const element of list) {
    if (previous !== undefined && order(previous, element, budget) > 0) return false;
    previous = element;
  }
  return true;
}

/** The elements in the order of their keys; elements with equal keys stay as they are. */
export function sortByKeys(keyed: readonly (readonly [key: Value, element: Value])[], budget: Budget): List {
  // Each comparison is a step, and there are about as many for each element as its number has digits.
  budget.charge(keyed.length * Math.ceil(Math.log2(keyed.length + 1)));
  const first = keyed[0]?.[0];
  if (!keyed.every(([key]) => isLike(key, first))) throw new EvaluationError('list elements must have the same type');
  for (const [key] of keyed) order(key, key, budget);
  return keyed.toSorted(([one], [other]) => order(one, other, budget)).map(([, element]) => element);
}

/** Numbers of different types have an order too, and still no list holds both. */
const isLike = (key: Value, other: Value | undefined): boolean =>
  typeof key === typeof other && key?.constructor === other?.constructor;

function slice(list: List, from: bigint, to: bigint, budget: Budget): List {
  const fault =
    from < 0n || to < 0n
      ? 'negative indexes not supported'
      : from > to
        ? 'start index must be less than or equal to end index'
        : to > BigInt(list.length)
          ? `list is length ${list.length}`
          : undefined;
  if (fault !== undefined) throw new EvaluationError(`cannot slice(${from}, ${to}), ${fault}`);
  budget.charge(Number(to - from));
  return list.slice(Number(from), Number(to));
}

function flatten(list: List, levels: bigint, budget: Budget): List {
  if (levels < 0n) throw new EvaluationError('level must be non-negative');
  budget.charge(1 + list.length);
  return list.flatMap((element) =>
    Array.isArray(element) && levels > 0n ? flatten(element, levels - 1n, budget) : [element],
  );
}

/** The first of equal elements. Anything can be an element, so each is compared with all that stay. */
function removeDuplicates(list: List, budget: Budget): List {
  const kept: Value[] = [];
  for (const element of list) if (!holds(kept, element, budget)) kept.push(element);
  return kept;
}

function outermost(list: List, direction: 1 | -1, budget: Budget): Value {
  budget.charge(list.length);
  if (list.length === 0) throw new EvaluationError(`${direction < 0 ? 'min' : 'max'} called on empty list`);
  return list.reduce((best, element) => (order(element, best, budget) * direction > 0 ? element : best));
}

const zeros = { int: 0n, uint: requireUint(0n), double: 0, duration: createDuration(0n) } as const;

/** A list of unknown values may hold any of these, and each only with its like. */
function addNumbers(sum: Value, next: Value): Value {
  if (typeof sum === 'bigint' && typeof next === 'bigint') return requireInt(sum + next);
  if (typeof sum === 'number' && typeof next === 'number') return sum + next;
  if (sum instanceof Uint && next instanceof Uint) return requireUint(sum.value + next.value);
  if (sum instanceof Duration && next instanceof Duration) return createDuration(sum.nanoseconds + next.nanoseconds);
  throw new EvaluationError('no such overload');
}

function holds(list: List, wanted: Value, budget: Budget): boolean {
  budget.charge(list.length);
  return list.some((element) => equal(element, wanted, budget));
}

const holdsAll = (list: List, part: List, budget: Budget): boolean =>
  part.every((element) => holds(list, element, budget));
