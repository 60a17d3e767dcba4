import type { SyncTask } from '@cluster-apiserver/base';
import { isIdentifier } from '@cluster-apiserver/expressions';
import {
  type Column,
  type FieldErrors,
  field,
  jsonField,
  invalidValue,
  type KubeObject,
  list,
  object,
  required,
  string,
  type ValueOf,
  type FieldValues,
} from '@cluster-apiserver/model';
import { publicationOfPart } from './admission-registration.ts';
import type { ExpressionChecker } from './expressions.ts';
import { failurePolicyErrors } from './failure-policy.ts';
import { addMatchConditionErrors, type MatchCondition } from './match-conditions.ts';
import { matchErrors, matchResourcesSchema, withMatchDefaults } from './match-resources.ts';
import { paramKindSchema, paramKindErrors } from './params.ts';

const variable = object(
  {
    name: field(1, string, 'Name of the variable. Later expressions use it as variables.NAME.', 'always'),
    expression: field(
      2,
      string,
      'CEL expression of the value. It is evaluated when the value is first used.',
      'always',
    ),
  },
  {
    atomic: true,
    publication: publicationOfPart('Variable', 'A variable that expressions of a policy can use.', [
      'name',
      'expression',
    ]),
  },
);

/** An expression with a name, for others to use. */
export type Variable = ValueOf<typeof variable>;

export const policyFields = {
  paramKind: jsonField(
    paramKindSchema,
    'Kind of the objects that hold the parameters of the policy. Without it there are no parameters.',
  ),
  matchConstraints: jsonField(matchResourcesSchema, 'Requests that the policy applies to.'),
  variables: jsonField(list(variable, { key: 'name' }), 'Variables that later expressions can use.'),
};

/** The shared part of the specs of validating and mutating policies. */
export type PolicySpec = FieldValues<typeof policyFields> & {
  failurePolicy?: string;
  matchConditions?: MatchCondition[];
};

/** Fills in defaults. */
export const withPolicyDefaults = <T extends PolicySpec>(spec: T): T => ({
  ...spec,
  ...(spec.matchConstraints && { matchConstraints: withMatchDefaults(spec.matchConstraints) }),
  failurePolicy: spec.failurePolicy ?? 'Fail',
});

/** Errors of the shared part of the specs. */
export function* addPolicyErrors(errors: FieldErrors, spec: PolicySpec, check: ExpressionChecker): SyncTask<void> {
  const { paramKind, matchConstraints, matchConditions = [] } = spec;
  for (const error of failurePolicyErrors('spec.failurePolicy', spec.failurePolicy)) errors.add(() => error);
  if (paramKind) for (const error of paramKindErrors('spec.paramKind', paramKind)) errors.add(() => error);
  if (!matchConstraints) errors.add(() => required('spec.matchConstraints'));
  else
    for (const error of matchErrors('spec.matchConstraints', matchConstraints, { needsRules: true }))
      errors.add(() => error);
  yield* addMatchConditionErrors(errors, 'spec.matchConditions', matchConditions, check);
}

/** Errors of variables. Each variable can be used by the expressions after it. */
export function addVariableErrors(errors: FieldErrors, variables: readonly Variable[], check: ExpressionChecker): void {
  for (const [index, { name, expression }] of variables.entries()) {
    const at = `spec.variables[${index}]`;
    if (name.trim() === '') errors.add(() => required(`${at}.name`, 'name is not specified'));
    else if (!isIdentifier(name)) errors.add(() => invalidValue(`${at}.name`, name, 'must be a valid CEL identifier'));
    if (expression.trim() === '') errors.add(() => required(`${at}.expression`, 'expression is not specified'));
    else errors.addAll(check.variable(index), (fault) => invalidValue(`${at}.expression`, expression, fault));
  }
}

export const paramKindColumn: Column<KubeObject & { spec: PolicySpec }> = {
  name: 'ParamKind',
  description: 'Kind of the objects that hold the parameters.',
  value: ({ spec: { paramKind } }) => (paramKind ? `${paramKind.apiVersion ?? ''}/${paramKind.kind ?? ''}` : '<unset>'),
};
