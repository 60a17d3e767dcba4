import { EvaluationError, type Value } from '../values/value.ts';
import type { Budget } from './budget.ts';

/** What one evaluation has at hand. */
export interface Frame {
  readonly variables: ReadonlyMap<string, Value>;
  /** The values of macro variables, by their slots. */
  readonly locals: Value[];
  readonly budget: Budget;
}

/** A tree made into functions once, so that an evaluation decides nothing that is already known. */
export type Plan = (frame: Frame) => Value;

export function truth(value: Value): boolean {
  if (typeof value !== 'boolean') throw new EvaluationError('no such overload: a condition is a bool');
  return value;
}
