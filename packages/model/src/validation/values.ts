import { jsonValuesMax } from '../json/json-scan.ts';
import { StatusError } from '../status.ts';

/**
 * Throws a StatusError if an object has grown by patches beyond the limits of a request. An update must not enlarge what
 * another server stored beyond them.
 */
export function requireBoundedValues(
  { valuesMax = jsonValuesMax }: { readonly valuesMax?: number },
  object: object,
  stored?: object,
): void {
  if (countValues(object, valuesMax) <= valuesMax) return;
  if (stored && countValues(object) <= countValues(stored)) return;
  throw new StatusError('RequestEntityTooLarge', `the object would hold more than ${valuesMax} values`);
}

/**
 * Members of an object of a custom kind, which are copied with each change of its metadata. V8 copies many more members
 * several times as slowly.
 */
const membersMax = 1_000;

/** Throws a StatusError if an object of a custom kind has too many members of its own, and more than are stored. */
export function requireBoundedMembers(
  { isCustom }: { readonly isCustom: boolean },
  object: object,
  stored?: object,
): void {
  if (!isCustom) return;
  const count = Object.keys(object).length;
  if (count > membersMax && count > Object.keys(stored ?? {}).length)
    throw new StatusError('RequestEntityTooLarge', `the object would have more than ${membersMax} members`);
}

/** Counts as in the text: the containers and the commas in them. Stops as soon as there are more than `max`. */
export function countValues(value: unknown, max = Number.POSITIVE_INFINITY): number {
  if (typeof value !== 'object' || value === null) return 0;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  // The container stands for the comma that its first member lacks; a number that is kept as text counts as one, too.
  let count = Math.max(1, members.length);
  for (let at = 0; at < members.length && count <= max; at++) {
    const member = members[at];
    if (typeof member === 'object') count += countValues(member, max - count);
  }
  return count;
}
