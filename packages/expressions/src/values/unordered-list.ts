import type { Budget } from '../run/budget.ts';
import type { Value } from './value.ts';

/** What identifies an element among those of its list. It is the same, as the key of a map, for equal elements. */
type IdentityOf = (element: Value) => unknown;

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
export function pairsByIdentity(left: readonly Value[], right: readonly Value[]): Iterator<Pair> | undefined {
  const identityOf = identities.get(left);
  return identityOf && pairs(left, right, identityOf);
}

/** An element of the right side is no pair yet; what it yields lets a turn end after it. */
function* pairs(left: readonly Value[], right: readonly Value[], identityOf: IdentityOf): Iterator<Pair> {
  const others = new Map<unknown, Value>();
  for (const element of right) {
    others.set(identityOf(element), element);
    yield [true, true];
  }
  for (const element of left) yield [element, others.get(identityOf(element))];
}

/** What the identity of an element takes. */
const identitySteps = 4;

/** `a + b`: of an unordered list, an element with the identity of one that is there takes its place. */
export function concatenate(left: readonly Value[], right: readonly Value[], budget: Budget): readonly Value[] {
  budget.charge(left.length + right.length);
  const identityOf = identities.get(left);
  if (!identityOf) return [...left, ...right];
  budget.charge(identitySteps * (left.length + right.length));
  const all = new Map<unknown, Value>();
  for (const list of [left, right]) for (const element of list) all.set(identityOf(element), element);
  return markUnordered([...all.values()], identityOf);
}
