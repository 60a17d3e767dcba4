/** An integer beyond 2^53 keeps its digits as raw JSON, which JSON.stringify writes as it is. */
export type Integer = number | RawNumber;
export interface RawNumber {
  readonly rawJSON: string;
}

declare global {
  /** In V8 since 11.4, not yet in TypeScript's library. */
  interface JSON {
    isRawJSON(value: unknown): value is RawNumber;
    rawJSON(text: string): RawNumber;
    /** `source` is the text of a value that is no object and no list. */
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
  }
}

export const isRawNumber = (value: unknown): value is RawNumber =>
  // V8's own test alone takes as long as all else that is done with most values.
  typeof value === 'object' && value !== null && 'rawJSON' in value && JSON.isRawJSON(value);
/** As a double, which rounds integers beyond 2^53. */
export const numberOf = (integer: Integer): number => Number(typeof integer === 'number' ? integer : integer.rawJSON);
/** Negative, zero or positive, as for a sort. Integers are compared exactly. */
export function compareNumbers(left: Integer, right: Integer): number {
  const [one, other] = [numberOf(left), numberOf(right)];
  if (one !== other || (typeof left === 'number' && typeof right === 'number'))
    return one < other ? -1 : one > other ? 1 : 0;
  const difference = exactOf(left) - exactOf(right);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** Both are the same double, so neither has a fraction if the other is beyond 2^53. */
const exactOf = (integer: Integer): bigint => BigInt(typeof integer === 'number' ? integer : integer.rawJSON);

/** One more, exactly. The largest 64-bit integer stays as it is: the next would be negative, and no valid generation. */
export function increment(integer: Integer): Integer {
  const current = BigInt(typeof integer === 'number' ? integer : integer.rawJSON);
  const next = current < maxInt64 ? current + 1n : current;
  return integerOf(next);
}

export const integerOf = (value: bigint): Integer =>
  Number.isSafeInteger(Number(value)) ? Number(value) : rawNumber(String(value));

const maxInt64 = 2n ** 63n - 1n;

export const rawNumber = (digits: string): RawNumber => JSON.rawJSON(digits);

/** The number of this source: as it is written wherever a double might not keep it so. */
export const exactNumber = (value: number, source: string): Integer =>
  String(value) === source ? value : rawNumber(source);

/** A number as Go's %v writes it: an integer of 64 bits in full, another from a million on and near zero with an exponent. */
export function formatNumber(value: Integer): string {
  if (typeof value !== 'number') return value.rawJSON;
  return Number.isSafeInteger(value) ? String(value) : formatFloat(value);
}

export function formatFloat(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || (size >= 1e-4 && size < 1e6)) return String(value);
  return value.toExponential().replace(/(?<=e[+-])\d$/, '0$&');
}
