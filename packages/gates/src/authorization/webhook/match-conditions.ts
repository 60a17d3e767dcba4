import {
  Budget,
  BudgetExceededError,
  EvaluationError,
  type Expression,
  fromJson,
  type Value,
} from '@cluster-apiserver/expressions';
import type { ReviewedResource, ReviewSpec } from './access-review.ts';

export type MatchResult = 'matches' | 'excluded' | Error;

/** A condition that failed. The message contains the expression, and nothing of the request. */
class MatchConditionError extends Error {
  override readonly name = 'MatchConditionError';
}

/** About a tenth of a second, for all conditions of one request together. */
const budgetSteps = 250_000;
/** Budget of each condition after the first is used up: a later one that is false still excludes the request. */
const lateBudgetSteps = 1_000;

/** Whether a review matches the webhook. One false condition excludes it, even if others fail. */
export function createConditionMatcher(conditions: readonly Expression[]): (spec: ReviewSpec) => MatchResult {
  if (conditions.length === 0) return () => 'matches';
  return (spec) => {
    const variables = toVariables(spec);
    let budget = new Budget(budgetSteps);
    let failed: MatchConditionError | undefined;
    for (const condition of conditions) {
      const value = evaluate(condition, variables, budget);
      if (value === false) return 'excluded';
      if (value === true) continue;
      failed ??= value;
      if (value.cause instanceof BudgetExceededError) budget = new Budget(lateBudgetSteps);
    }
    return failed ?? 'matches';
  };
}

function evaluate(
  condition: Expression,
  variables: ReadonlyMap<string, Value>,
  budget: Budget,
): boolean | MatchConditionError {
  try {
    return condition.evaluate(variables, budget) === true;
  } catch (cause) {
    if (!(cause instanceof EvaluationError || cause instanceof BudgetExceededError)) throw cause;
    return new MatchConditionError(`the match condition ${JSON.stringify(condition.text)} cannot be evaluated`, {
      cause,
    });
  }
}

/**
 * Empty strings are present. The unused one of resourceAttributes and nonResourceAttributes is null as a bare variable, so
 * that `has(resourceAttributes.verb)` is false, and absent below `request`, so that `has(request.resourceAttributes)` is.
 */
function toVariables({ resourceAttributes, nonResourceAttributes, user, groups, extra, uid }: ReviewSpec) {
  const spec = {
    user: user ?? '',
    groups: groups ?? [],
    extra: extra ?? {},
    uid: uid ?? '',
    resourceAttributes: resourceAttributes && fillEmptyStrings(resourceAttributes),
    nonResourceAttributes,
  };
  const bare = Object.entries(spec).map(([name, value]): [string, Value] => [name, fromJson(value ?? null)]);
  return new Map<string, Value>([...bare, ['request', fromJson(spec)]]);
}

const fillEmptyStrings = (attributes: ReviewedResource): object => ({
  ...attributes,
  namespace: attributes.namespace ?? '',
  group: attributes.group ?? '',
  version: attributes.version ?? '',
  subresource: attributes.subresource ?? '',
  name: attributes.name ?? '',
});
