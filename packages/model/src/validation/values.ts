import { jsonValuesMax } from '../codec/json-scan.ts';
import { isRawNumber } from '../schema/decode.ts';
import { StatusError } from '../status.ts';

/** Throws an answer when an object has grown, patch by patch, beyond what a client may send at once. */
export function requireBoundedValues(object: object): void {
  if (hasMoreValues(object, jsonValuesMax))
    throw new StatusError('RequestEntityTooLarge', `the object would hold more than ${jsonValuesMax} values`);
}

export const hasMoreValues = (object: object, max: number): boolean => valuesLeft(object, max) < 0;

/** Counted as in the text: the containers and the commas in them. Negative as soon as there are more. */
function valuesLeft(value: unknown, max: number): number {
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return max;
  let left = max; // the container for the comma that its first member lacks
  let members = 0;
  const map = value as Readonly<Record<string, unknown>>;
  for (const key in map) {
    members++;
    left = valuesLeft(map[key], left - 1);
    if (left < 0) break;
  }
  return members > 0 ? left : left - 1;
}
