import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { field, jsonField, list, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { qualifiedName } from '@cluster-apiserver/model/validation';
import { publicationOfPart } from './admission-registration.ts';
import type { ExpressionChecker } from './expressions.ts';

const matchCondition = object(
  {
    name: field(1, string, 'Name of the condition, for errors and logs.', 'always'),
    expression: field(
      2,
      string,
      'CEL expression that must be true. Variables: object, oldObject, request, authorizer and, in policies, params.',
      'always',
    ),
  },
  {
    publication: publicationOfPart('MatchCondition', 'A condition that a request must meet.', ['name', 'expression']),
  },
);

/** A condition that a request must meet for the webhook or policy to apply. */
export type MatchCondition = ValueOf<typeof matchCondition>;

export const matchConditionsField = jsonField(
  list(matchCondition, { keys: ['name'] }),
  'Conditions that a request must meet, at most 64. If one is false, the request does not match; otherwise failurePolicy applies to an error.',
);

const matchConditionsMax = 64;

export function* validateMatchConditions(
  conditions: readonly MatchCondition[],
  check: ExpressionChecker,
  problems: Problems,
): SyncTask<void> {
  if (conditions.length > matchConditionsMax) problems.tooMany(conditions.length, matchConditionsMax);
  const seen = new Set<string>();
  for (const [index, { name, expression }] of conditions.entries()) {
    const at = problems.at(index);
    const trimmed = expression.trim();
    if (trimmed === '') at.at('expression').required();
    else at.at('expression').check(check.matchCondition, trimmed);
    if (name === '') at.at('name').required();
    else at.at('name').check(qualifiedName, name);
    if (name !== '' && seen.has(name)) at.at('name').duplicate(name);
    seen.add(name);
    yield;
  }
}
