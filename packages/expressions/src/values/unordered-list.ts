import type { Budget } from '../run/budget.ts';
import type { Value } from './value.ts';

/** The text that identifies an element among those of its list. */
export type IdentityOf = (element: Value) => string;

/** What distinguishes the elements of a list. The entry goes with the list. */
const identities = new WeakMap<readonly Value[], IdentityOf>();

/**
 * Makes a list one whose elements have an identity of their own, so that their order means nothing: a set, or a list with
 * keys. It stays an array, as all lists are.
 */
export function markUnordered(list: readonly Value[], identityOf: IdentityOf): readonly Value[] {
  identities.set(list, identityOf);
  return list;
}

type Pair = readonly [Value, Value | undefined];

/** The elements of an unordered list with those of another one that have their identity; undefined for other lists. */
export function pairsByIdentity(
  left: readonly Value[],
  right: readonly Value[],
  budget: Budget,
): Iterator<Pair> | undefined {
  const identityOf = identities.get(left);
  return identityOf && pairs(left, right, identityOf, budget);
}

/** An element of the right side is no pair yet: the step that remembers it can be the last one of a turn. */
function* pairs(
  left: readonly Value[],
  right: readonly Value[],
  identityOf: IdentityOf,
  budget: Budget,
): Iterator<Pair> {
  const others = new Map<string, Value>();
  for (const element of right) {
    budget.charge(1);
    others.set(identityOf(element), element);
    yield [true, true];
  }
  for (const element of left) yield [element, others.get(identityOf(element))];
}

/** `a + b`: of an unordered list, an element with the identity of one that is there takes its place. */
export function concatenate(left: readonly Value[], right: readonly Value[]): readonly Value[] {
  const identityOf = identities.get(left);
  if (!identityOf) return [...left, ...right];
  const all = new Map<string, Value>();
  for (const list of [left, right]) for (const element of list) all.set(identityOf(element), element);
  return markUnordered([...all.values()], identityOf);
}
