import {
  admissionEnvironment,
  type AdmissionOptions,
  compileIn,
  compileVariables,
  type Evaluation,
  type Expression,
  EvaluationError,
  type VariableSet,
  withVariables,
} from '@cluster-apiserver/expressions';
import type { Work } from '@cluster-apiserver/base';
import type { MatchCondition, PolicySpec } from '@cluster-apiserver/kinds';

/** An expression of a policy that was refused although validation had accepted it, by an older server perhaps. */
export class PolicyCompileError extends Error {
  override readonly name = 'PolicyCompileError';
}

/** Compiles the expressions of one policy. */
export class PolicyCompiler {
  readonly variables: VariableSet;
  readonly #hasParams: boolean;

  constructor({ paramKind, variables = [] }: PolicySpec) {
    this.#hasParams = paramKind !== undefined;
    const compiled = compileVariables(this.#environment({ hasAuthorizer: true }), variables);
    for (const fault of compiled.faults.values()) throw new PolicyCompileError(fault);
    this.variables = compiled.variables;
  }

  compile(expression: string, options: AdmissionOptions = { hasAuthorizer: true }): Expression {
    return required(compileIn(withVariables(this.#environment(options), this.variables), expression));
  }

  conditions(conditions: readonly MatchCondition[]): readonly Expression[] {
    const environment = this.#environment({ hasAuthorizer: true });
    return conditions.map(({ expression }) => required(compileIn(environment, expression)));
  }

  #environment(options: AdmissionOptions) {
    return admissionEnvironment({ ...options, hasParams: this.#hasParams });
  }
}

function required(compiled: ReturnType<typeof compileIn>): Expression {
  if ('faults' in compiled) throw new PolicyCompileError(`compilation failed: ${compiled.faults.join('\n')}`);
  return compiled.expression;
}

/** What an expression came to, or in the words of an answer why it came to nothing. */
export type Outcome<T> = { readonly value: T; readonly error?: undefined } | { readonly error: string };

/** Evaluates and keeps what went wrong. Faults of ours are thrown. */
export function* outcomeOf<T>(
  evaluation: Evaluation,
  expression: Expression,
  convert: (value: unknown) => T,
): Work<Outcome<T>> {
  try {
    return { value: convert(yield* evaluation.evaluate(expression)) };
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return { error: `expression '${expression.text}' resulted in error: ${error.message}` };
  }
}

/** Whether all conditions hold. One that is false wins over errors of others. */
export function* meetsConditions(evaluation: Evaluation, conditions: readonly Expression[]): Work<Outcome<boolean>> {
  const errors: string[] = [];
  for (const condition of conditions) {
    const { value, error } = (yield* outcomeOf(evaluation, condition, (held) => held === true)) as {
      value?: boolean;
      error?: string;
    };
    if (error !== undefined) errors.push(error);
    else if (!value) return { value: false };
  }
  if (errors.length === 0) return { value: true };
  const [first] = errors;
  return { error: errors.length === 1 && first !== undefined ? first : `[${errors.join(', ')}]` };
}
