import { chain } from '@cluster-apiserver/base';
import type { AccessDecision } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';

/** Counts the decisions of an authorizer, without those that it leaves to others. */
export function countDecisions(inner: Authorizer, count: (decision: 'allowed' | 'denied') => void): Authorizer {
  const report = (decision: AccessDecision): AccessDecision => {
    if (decision.verdict === 'allow') count('allowed');
    else if (decision.verdict === 'deny') count('denied');
    return decision;
  };
  const { rulesOf } = inner;
  return {
    authorize: (attributes, call) => chain(inner.authorize(attributes, call), report),
    ...(rulesOf && { rulesOf }),
  };
}
