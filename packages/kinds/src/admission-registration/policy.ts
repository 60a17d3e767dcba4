import type { SyncTask } from '@cluster-apiserver/base';
import { isIdentifier } from '@cluster-apiserver/expressions';
import type { Problems } from '@cluster-apiserver/model';
import type { Column, KubeObject } from '@cluster-apiserver/model/kind';
import {
  field,
  jsonField,
  list,
  object,
  string,
  type ValueOf,
  type FieldValues,
} from '@cluster-apiserver/model/schema';
import { publicationOfPart } from './admission-registration.ts';
import type { ExpressionChecker } from './expressions.ts';
import { failurePolicies } from './choices.ts';
import { type MatchCondition, validateMatchConditions } from './match-conditions.ts';
import { matchResourcesSchema, validateMatch, withMatchDefaults } from './match-resources.ts';
import { paramKindSchema, validateParamKind } from './params.ts';

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
  variables: jsonField(list(variable, { keys: ['name'] }), 'Variables that later expressions can use.'),
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

/** The shared part of the specs. */
export function* validatePolicy(spec: PolicySpec, check: ExpressionChecker, problems: Problems): SyncTask<void> {
  const { paramKind, matchConstraints, matchConditions = [] } = spec;
  problems.at('failurePolicy').oneOf(spec.failurePolicy, failurePolicies);
  if (paramKind) validateParamKind(paramKind, problems.at('paramKind'));
  const at = problems.at('matchConstraints');
  if (!matchConstraints) at.required();
  else validateMatch(matchConstraints, { needsRules: true }, at);
  yield* validateMatchConditions(matchConditions, check, problems.at('matchConditions'));
}

/** Each variable can be used by the expressions after it. */
export function validateVariables(variables: readonly Variable[], check: ExpressionChecker, problems: Problems): void {
  for (const [index, { name, expression }] of variables.entries()) {
    const at = problems.at(index);
    if (name.trim() === '') at.at('name').required('name is not specified');
    else if (!isIdentifier(name)) at.at('name').invalid(name, 'must be a valid CEL identifier');
    if (expression.trim() === '') at.at('expression').required('expression is not specified');
    else at.at('expression').check(() => check.variable(index), expression);
  }
}

export const paramKindColumn: Column<KubeObject & { spec: PolicySpec }> = {
  name: 'ParamKind',
  description: 'Kind of the objects that hold the parameters.',
  value: ({ spec: { paramKind } }) => (paramKind ? `${paramKind.apiVersion ?? ''}/${paramKind.kind ?? ''}` : '<unset>'),
};
