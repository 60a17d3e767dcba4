import type { SyncTask } from '@cluster-apiserver/base';
import { isObjectOrRawNumber } from '../json/json-object.ts';
import { jsonMembersMax, jsonValuesMax } from '../json/json-scan.ts';
import { StatusError } from '../status.ts';

/**
 * Throws a StatusError if an object has grown by patches beyond the limits of a request. An update must not enlarge what
 * another server stored beyond them.
 */
export function* requireBoundedValues(
  { valuesMax = jsonValuesMax }: { readonly valuesMax?: number },
  object: object,
  stored?: object,
): SyncTask<void> {
  if ((yield* countInSteps(object, valuesMax, jsonMembersMax)) <= valuesMax) return;
  const requireBounded = (count: (value: object) => number, max: number, what: string): void => {
    if (count(object) > Math.max(max, stored ? count(stored) : 0))
      throw new StatusError('RequestEntityTooLarge', `the object would hold more than ${max} ${what}`);
  };
  requireBounded((value) => countValues(value), valuesMax, 'values');
  requireBounded(mostMembers, jsonMembersMax, 'members of one object');
}

/**
 * Members of an object of a custom kind, which are copied with each change of its metadata. V8 copies many more members
 * several times as slowly.
 */
const rootMembersMax = 1_000;

/** Throws a StatusError if an object of a custom kind has too many members of its own, and more than are stored. */
export function requireBoundedMembers(
  { isCustom }: { readonly isCustom: boolean },
  object: object,
  stored?: object,
): void {
  if (!isCustom) return;
  const count = Object.keys(object).length;
  if (count > rootMembersMax && count > Object.keys(stored ?? {}).length)
    throw new StatusError('RequestEntityTooLarge', `the object would have more than ${rootMembersMax} members`);
}

/**
 * Counts as in the text: the containers and the commas in them. Stops as soon as there are more than `max`. An object whose
 * members are more than `membersMax` before that counts as infinitely many.
 */
export function countValues(
  value: unknown,
  max = Number.POSITIVE_INFINITY,
  membersMax = Number.POSITIVE_INFINITY,
): number {
  if (Array.isArray(value)) {
    let count = value.length;
    for (let at = 0; at < value.length && count <= max; at++) count += countValues(value[at], max - count, membersMax);
    return Math.max(1, count);
  }
  if (!isObjectOrRawNumber(value)) return 0;
  let members = 0;
  let inner = 0;
  for (const name in value) {
    if (++members > membersMax) return Number.POSITIVE_INFINITY;
    if (members + inner > max) break;
    const member = value[name];
    if (typeof member === 'object') inner += countValues(member, max - members - inner, membersMax);
  }
  // The container stands for the comma that its first member lacks; a number that is kept as text counts as one, too.
  return Math.max(1, members) + inner;
}

/** Values that are counted in one step, a fraction of a millisecond. */
const valuesPerStep = 4_000;

/** Like `countValues`. */
function* countInSteps(value: object, max: number, membersMax: number): SyncTask<number> {
  const few = countValues(value, valuesPerStep, membersMax);
  if (few <= valuesPerStep || few === Number.POSITIVE_INFINITY) return few;
  yield;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  if (!Array.isArray(value) && members.length > membersMax) return Number.POSITIVE_INFINITY;
  let count = members.length;
  let countOfStep = 0;
  for (let at = 0; at < members.length && count <= max; at++) {
    const member = members[at];
    if (typeof member !== 'object' || member === null) continue;
    const more = yield* countInSteps(member, max - count, membersMax);
    count += more;
    countOfStep += more;
    if (countOfStep < valuesPerStep) continue;
    countOfStep = 0;
    yield;
  }
  return count;
}

/** The members of the object in it that has most of them. */
function mostMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.reduce<number>(
    (most, member) => Math.max(most, mostMembers(member)),
    Array.isArray(value) ? 0 : members.length,
  );
}
