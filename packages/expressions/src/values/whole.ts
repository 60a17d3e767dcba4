import { EvaluationError, Uint } from './value.ts';

/** Ints and uints have 64 bits; a result that does not fit is an error and never wraps. */
export function requireInt(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new EvaluationError('integer overflow');
  return value;
}

export function requireUint(value: bigint): Uint {
  if (BigInt.asUintN(64, value) !== value) throw new EvaluationError('unsigned integer overflow');
  return new Uint(value);
}
