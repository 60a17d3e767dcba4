import type { Expression } from '@cluster-apiserver/expressions';
import type { Problems } from '@cluster-apiserver/model';
import { object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { compileClaimRule, compileUserRule } from './expression.ts';
import { requireUnique } from './issuer.ts';
import { optional, required } from '../schema.ts';

/** A condition that the claims of a token must satisfy. */
export type ClaimRule =
  | { readonly by: 'claim'; readonly claim: string; readonly requiredValue: string }
  | ExpressionRule;

export interface ExpressionRule {
  readonly by: 'expression';
  readonly expression: Expression;
  /** Sent to the client if the rule rejects its token. */
  readonly message: string | undefined;
}

const message = optional(string, 'Message if the expression is not true.');

/** Either `claim` and `requiredValue`, or `expression`. */
export const claimRule = object({
  claim: optional(string, 'Name of a claim that must be a string.'),
  requiredValue: optional(string, 'Value that the claim must have.'),
  expression: optional(string, 'CEL expression over `claims` that must be true.'),
  message,
});

export const userRule = object({
  expression: required(string, 'CEL expression over `user` that must be true.'),
  message,
});

export function readClaimRules(rules: readonly ValueOf<typeof claimRule>[], at: Problems): readonly ClaimRule[] {
  const taken = new Set<string>();
  return rules.flatMap((rule, index): readonly ClaimRule[] => {
    const place = at.at(index);
    const { claim = '', requiredValue = '', expression = '' } = rule;
    if (claim !== '' && expression !== '') place.invalid(claim, "claim and expression can't both be set");
    if (claim === '' && expression === '') place.required('claim or expression is required');
    if (claim !== '' && rule.message)
      place.at('message').invalid(rule.message, 'may not be specified when claim is set');
    if (expression !== '' && requiredValue !== '')
      place.at('requiredValue').invalid(requiredValue, 'may not be specified when expression is set');
    requireUnique(claim || expression, place.at(claim === '' ? 'expression' : 'claim'), taken);
    if (claim !== '') return [{ by: 'claim', claim, requiredValue }];
    return ruleOf(compileClaimRule(expression, place.at('expression')), rule.message);
  });
}

export function readUserRules(rules: readonly ValueOf<typeof userRule>[], at: Problems): readonly ExpressionRule[] {
  const taken = new Set<string>();
  return rules.flatMap((rule, index) => {
    const place = at.at(index, 'expression');
    requireUnique(rule.expression, place, taken);
    return ruleOf(compileUserRule(rule.expression, place), rule.message);
  });
}

const ruleOf = (expression: Expression | undefined, text: string | undefined): ExpressionRule[] =>
  expression ? [{ by: 'expression', expression, message: text || undefined }] : [];
