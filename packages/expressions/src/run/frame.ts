import { EvaluationError, type Value } from '../values/value.ts';
import type { Budget } from './budget.ts';
import type { Progress } from './progress.ts';

/** The values of variables, by name. */
export interface Bindings {
  get(name: string): Value | undefined;
}

/** The state of one evaluation. */
export interface Frame {
  readonly variables: Bindings;
  /** The values of macro variables, by their slots. */
  readonly locals: Value[];
  readonly budget: Budget;
  readonly progress: Progress;
}

/** A tree made into functions once, so that an evaluation decides nothing that is already known. */
export type Plan = (frame: Frame) => Value;

/** Numbers the parts of an expression that keep progress. */
export class Slots {
  next = 0;
  take(): number {
    return this.next++;
  }
}

export function truth(value: Value): boolean {
  if (typeof value !== 'boolean') throw new EvaluationError('no such overload');
  return value;
}
