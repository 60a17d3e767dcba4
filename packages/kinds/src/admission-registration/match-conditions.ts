import type { SyncTask } from '@cluster-apiserver/base';
import {
  duplicate,
  field,
  jsonField,
  type FieldErrors,
  invalidValue,
  list,
  object,
  qualifiedName,
  required,
  string,
  tooMany,
  type ValueOf,
} from '@cluster-apiserver/model';
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
  list(matchCondition, { key: 'name' }),
  'Conditions that a request must meet, at most 64. If one is false, the request does not match; otherwise failurePolicy applies to an error.',
);

const matchConditionsMax = 64;

export function* addMatchConditionErrors(
  errors: FieldErrors,
  at: string,
  conditions: readonly MatchCondition[],
  check: ExpressionChecker,
): SyncTask<void> {
  if (conditions.length > matchConditionsMax) errors.add(() => tooMany(at, conditions.length, matchConditionsMax));
  const seen = new Set<string>();
  for (const [index, { name, expression }] of conditions.entries()) {
    const where = `${at}[${index}]`;
    const trimmed = expression.trim();
    if (trimmed === '') errors.add(() => required(`${where}.expression`));
    else errors.addAll(check.matchCondition(trimmed), (fault) => invalidValue(`${where}.expression`, trimmed, fault));
    if (name === '') errors.add(() => required(`${where}.name`));
    else errors.addAll(qualifiedName(name), (problem) => invalidValue(`${where}.name`, name, problem));
    if (name !== '' && seen.has(name)) errors.add(() => duplicate(`${where}.name`, name));
    seen.add(name);
    yield;
  }
}
