import { jsonValuesMax } from '../json/json-scan.ts';
import { StatusError } from '../status.ts';

/** Throws a StatusError if an object has grown by patches beyond the limits of a request. */
export function requireBoundedValues(object: object): void {
  if (hasMoreValues(object, jsonValuesMax))
    throw new StatusError('RequestEntityTooLarge', `the object would hold more than ${jsonValuesMax} values`);
}

const hasMoreValues = (object: object, max: number): boolean => valuesLeft(object, max) < 0;

/** Counted as in the text: the containers and the commas in them. Negative as soon as there are more. */
function valuesLeft(value: unknown, max: number): number {
  if (typeof value !== 'object' || value === null) return max;
  const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  // The container stands for the comma that its first member lacks; a number that is kept as text counts as one, too.
  let left = max - Math.max(1, members.length);
  for (let at = 0; at < members.length && left >= 0; at++) {
    const member = members[at];
    if (typeof member === 'object') left = valuesLeft(member, left);
  }
  return left;
}
