import type { Steps } from '@cluster-apiserver/base';
import {
  admissionEnvironment,
  type AdmissionOptions,
  applyConfigurationType,
  compileTyped,
  compileVariables,
  jsonPatchType,
  type Type,
  types,
  withVariables,
  type WrittenVariable,
} from '@cluster-apiserver/expressions';

/** Says what is wrong with an expression, for each place where one may stand. Nothing wrong is an empty list. */
export interface ExpressionChecker {
  matchCondition(expression: string): readonly string[];
  validation(expression: string): readonly string[];
  message(expression: string): readonly string[];
  auditAnnotation(expression: string): readonly string[];
  applyConfiguration(expression: string): readonly string[];
  jsonPatch(expression: string): readonly string[];
  /** The variable of this index. */
  variable(index: number): readonly string[];
}

/** Those that expressions of a webhook or a policy may use. */
export interface ExpressionNames {
  readonly hasParams: boolean;
  readonly variables: readonly WrittenVariable[];
}

/** Webhooks have neither parameters nor variables. */
export const noNames: ExpressionNames = { hasParams: false, variables: [] };

/** Compiles the variables first. Each of its checks compiles an expression, which is worth a step. */
export function* expressionChecker({ hasParams, variables: written }: ExpressionNames): Steps<ExpressionChecker> {
  const full = admissionEnvironment({ hasParams, hasAuthorizer: true });
  const { variables, faults } = yield* compileVariables(full, written);
  const checking =
    (options: AdmissionOptions, ...allowed: readonly Type[]) =>
    (expression: string): readonly string[] =>
      faultOf(
        compileTyped(withVariables(admissionEnvironment({ hasParams, ...options }), variables), expression, allowed),
      );
  const authorized = { hasAuthorizer: true };
  const patching = { hasAuthorizer: true, hasPatchTypes: true };
  return {
    matchCondition: (expression) => faultOf(compileTyped(full, expression, [types.bool])),
    validation: checking(authorized, types.bool),
    message: checking({}, types.string),
    auditAnnotation: checking(authorized, types.string, types.null),
    applyConfiguration: checking(patching, applyConfigurationType),
    jsonPatch: checking(patching, types.list(jsonPatchType)),
    variable: (index) => {
      const fault = faults.get(index);
      return fault === undefined ? [] : [fault];
    },
  };
}

const faultOf = (compiled: ReturnType<typeof compileTyped>): readonly string[] =>
  'fault' in compiled ? [compiled.fault] : [];

const reserved = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** Whether an expression can name something by this word. */
export const isIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name);
