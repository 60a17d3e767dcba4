import type { Clock, Task } from '@cluster-apiserver/base';
import { BudgetExceededError, type Evaluation, EvaluationError, type Expression } from '@cluster-apiserver/expressions';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { CheckError } from './policy-measures.ts';
import type { ConditionMeasures } from './condition-measures.ts';

/** The value of an expression, or the error message for the response. */
export type Evaluated<T> = { readonly value: T; readonly error?: undefined } | Failed;

export interface Failed {
  readonly error: string;
  readonly type: Exclude<CheckError, 'no_error'>;
}

/** Evaluates an expression and returns errors. Throws a BudgetExceededError, after which nothing else can be evaluated. */
export function* tryEvaluate<T>(
  evaluation: Evaluation,
  expression: Expression,
  convert: (value: unknown) => T,
): Task<Evaluated<T>> {
  try {
    return { value: convert(yield* evaluation.evaluate(expression)) };
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return { error: `expression '${expression.text}' resulted in error: ${error.message}`, type: getErrorType(error) };
  }
}

/** The budget of the single expression may be used up, or that of the whole request. */
export const getErrorType = ({ cause }: EvaluationError): Failed['type'] =>
  cause instanceof BudgetExceededError ? 'out_of_budget' : 'invalid_error';

export const toBudgetFailure = ({ message }: BudgetExceededError): Failed => ({
  error: message,
  type: 'out_of_budget',
});

export interface ConditionsOptions {
  /** Of the policy or webhook. */
  readonly name: string;
  readonly operation: AdmissionContext['operation'];
  readonly measures: ConditionMeasures;
  readonly clock: Clock;
}

/** Whether all match conditions hold. One that is false wins over errors of others. */
export function* evaluateConditions(
  evaluation: Evaluation,
  conditions: readonly Expression[],
  { name, operation, measures, clock }: ConditionsOptions,
): Task<Evaluated<boolean>> {
  if (conditions.length === 0) return { value: true };
  const startMs = clock.monotonicMs();
  const met = yield* evaluateAll(evaluation, conditions);
  measures.evaluated(name, operation, secondsSince(startMs, clock));
  if (met.error !== undefined) measures.failed(name, operation);
  else if (!met.value) measures.excluded(name, operation);
  return met;
}

function* evaluateAll(evaluation: Evaluation, conditions: readonly Expression[]): Task<Evaluated<boolean>> {
  const errors: string[] = [];
  try {
    for (const condition of conditions) {
      const outcome: Evaluated<boolean> = yield* tryEvaluate(evaluation, condition, (held) => held === true);
      if (outcome.error !== undefined) errors.push(outcome.error);
      else if (!outcome.value) return { value: false };
    }
  } catch (error) {
    if (!(error instanceof BudgetExceededError)) throw error;
    return toBudgetFailure(error);
  }
  const [first] = errors;
  if (first === undefined) return { value: true };
  return { error: errors.length === 1 ? first : `[${errors.join(', ')}]`, type: 'invalid_error' };
}

export const secondsSince = (startMs: number, clock: Clock): number => (clock.monotonicMs() - startMs) / 1000;
