/** An integer beyond 2^53 keeps its digits as raw JSON, which JSON.stringify writes as it is. */
export type Integer = number | RawNumber;
export interface RawNumber {
  readonly rawJSON: string;
}

interface JsonWithRaw {
  isRawJSON(value: unknown): value is RawNumber;
  rawJSON(text: string): RawNumber;
}
const rawJson = JSON as unknown as JsonWithRaw; // in V8 since 11.4, not yet in TypeScript's library

export const isRawNumber = (value: unknown): value is RawNumber =>
  // V8's own test alone takes as long as all else that is done with most values.
  typeof value === 'object' && value !== null && 'rawJSON' in value && rawJson.isRawJSON(value);
/** As a double, which rounds integers beyond 2^53. */
export const numberOf = (integer: Integer): number => Number(typeof integer === 'number' ? integer : integer.rawJSON);
export const rawNumber = (digits: string): RawNumber => rawJson.rawJSON(digits);
