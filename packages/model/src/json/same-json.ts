import { isJsonObject } from './json-object.ts';
import { type Integer, isRawNumber } from './raw-number.ts';

/**
 * Whether two JSON values are equal: members in any order, numbers by value. `spend` counts the compared values, so that
 * a caller can bound repeated comparisons.
 */
export function sameJson(left: unknown, right: unknown, spend: (values: number) => void = () => {}): boolean {
  spend(1);
  if (left === right) return true;
  if (isNumber(left) && isNumber(right)) return sameNumber(digitsOf(left), digitsOf(right));
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((entry, index) => sameJson(entry, right[index], spend))
    );
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  let more = 0;
  for (const key in left) {
    if (!Object.hasOwn(right, key) || !sameJson(left[key], right[key], spend)) return false;
    more++;
  }
  for (const _ in right) more--;
  return more === 0;
}

const isNumber = (value: unknown): value is Integer => typeof value === 'number' || isRawNumber(value);

const digitsOf = (value: Integer): string => (typeof value === 'number' ? String(value) : value.rawJSON);

const wholeNumber = /^-?[0-9]+$/;

/** Whole numbers are compared digit by digit, because a double may not hold them. */
const sameNumber = (left: string, right: string): boolean =>
  wholeNumber.test(left) && wholeNumber.test(right) ? BigInt(left) === BigInt(right) : Number(left) === Number(right);
