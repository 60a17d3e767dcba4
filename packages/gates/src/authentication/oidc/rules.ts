import { getOwn } from '@cluster-apiserver/base';
import type { ClaimRule, ExpressionRule } from '@cluster-apiserver/config';
import { fromJson } from '@cluster-apiserver/expressions';
import type { UserInfo } from '@cluster-apiserver/model';
import { evaluate, type Values } from './claim-mapping.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';
import type { Claims } from './verify-claims.ts';

/** Every rule must hold. */
export function checkClaimRules(rules: readonly ClaimRule[], claims: Claims, values: Values): void {
  for (const [index, rule] of rules.entries()) {
    if (rule.by === 'expression') checkRule(`claimValidationRules[${index}]`, rule, values);
    else if (getOwn(claims, rule.claim) !== rule.requiredValue)
      throw new TokenRejectedError(`claimValidationRules[${index}]: the claim ${rule.claim} is not as required`);
  }
}

/**
 * Rules see the user without system:authenticated. Groups and extra are present even if they are empty, so that `all()`
 * over them is true.
 */
export function checkUserRules(rules: readonly ExpressionRule[], { name, uid, groups, extra = {} }: UserInfo): void {
  if (rules.length === 0) return;
  const values = new Map([['user', fromJson({ username: name, uid, groups, extra })]]);
  for (const [index, rule] of rules.entries()) checkRule(`userValidationRules[${index}]`, rule, values);
}

function checkRule(where: string, { expression, message }: ExpressionRule, values: Values): void {
  if (evaluate(where, expression, values) !== true)
    throw new TokenRejectedError(`${where} does not hold: ${expression.text}`, { clientMessage: message });
}
