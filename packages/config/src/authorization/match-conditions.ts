import { authorizationVariables, type Expression } from '@cluster-apiserver/expressions';
import type { Problems } from '@cluster-apiserver/model';
import { object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { boolWanted, compileText, isBool } from '../authentication/expression.ts';
import { list, required } from '../schema.ts';

const matchConditionsMax = 64;

/** Bare variables as in the documentation of this server, and below `request` as in kube-apiserver's. */
const variables = { ...authorizationVariables.request.fields, ...authorizationVariables };

export const matchConditionsSchema = list(
  object({
    expression: required(
      string,
      'CEL expression over the spec of the SubjectAccessReview (`user`, `groups`, `resourceAttributes`, …; also below `request`).',
    ),
  }),
  matchConditionsMax,
);

/** An empty list matches every request. */
export function readMatchConditions(
  conditions: ValueOf<typeof matchConditionsSchema>,
  at: Problems,
): readonly Expression[] {
  const taken = new Set<string>();
  return conditions.flatMap(({ expression: text }, index) => {
    const place = at.at(index, 'expression');
    if (taken.has(text)) {
      place.duplicate(text);
      return [];
    }
    taken.add(text);
    return compileText(text, place, variables, isBool, boolWanted) ?? [];
  });
}
