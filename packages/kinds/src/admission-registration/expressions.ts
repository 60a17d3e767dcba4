import type { SyncTask } from '@cluster-apiserver/base';
import {
  createAdmissionEnvironment,
  type AdmissionOptions,
  compileTyped,
  compileVariables,
  policyResults,
  type Type,
  withVariables,
  type VariableDeclaration,
} from '@cluster-apiserver/expressions';

/** Returns the faults of an expression, by the field that it is in. A valid expression has none. */
export interface ExpressionChecker {
  readonly matchCondition: Check;
  readonly validation: Check;
  readonly message: Check;
  readonly auditAnnotation: Check;
  readonly applyConfiguration: Check;
  readonly jsonPatch: Check;
  /** The variable of this index. */
  readonly variable: (index: number) => readonly string[];
}

type Check = (expression: string) => readonly string[];

/** Those that expressions of a webhook or a policy may use. */
export interface ExpressionNames {
  readonly hasParams: boolean;
  readonly variables: readonly VariableDeclaration[];
}

/** Webhooks have neither parameters nor variables. */
export const noNames: ExpressionNames = { hasParams: false, variables: [] };

/** Compiles the variables first. Each of its checks compiles an expression, which is worth a step. */
export function* expressionChecker({ hasParams, variables: written }: ExpressionNames): SyncTask<ExpressionChecker> {
  const full = createAdmissionEnvironment({ hasParams, hasAuthorizer: true });
  const { variables, faults } = yield* compileVariables(full, written);
  const checking =
    (options: AdmissionOptions, allowed: readonly Type[]): Check =>
    (expression) =>
      compileFaults(
        compileTyped(
          withVariables(createAdmissionEnvironment({ hasParams, ...options }), variables),
          expression,
          allowed,
        ),
      );
  const authorized = { hasAuthorizer: true };
  const patching = { hasAuthorizer: true, hasPatchTypes: true };
  return {
    matchCondition: (expression) => compileFaults(compileTyped(full, expression, policyResults.condition)),
    validation: checking(authorized, policyResults.condition),
    message: checking({}, policyResults.message),
    auditAnnotation: checking(authorized, policyResults.auditAnnotation),
    applyConfiguration: checking(patching, policyResults.applyConfiguration),
    jsonPatch: checking(patching, policyResults.jsonPatch),
    variable: (index) => {
      const fault = faults.get(index);
      return fault === undefined ? [] : [fault];
    },
  };
}

const compileFaults = (compiled: ReturnType<typeof compileTyped>): readonly string[] =>
  'fault' in compiled ? [compiled.fault] : [];
