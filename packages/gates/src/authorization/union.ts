import type { Call } from '@cluster-apiserver/base';
import type { AccessDecision, AccessQuestion } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';
import { allRules } from './rules.ts';

/** Asks one after the other until one decides; their reasons are gathered when none does. */
export function firstToDecide(authorizers: readonly Authorizer[]): Required<Authorizer> {
  const from = (
    index: number,
    attributes: AccessQuestion,
    call: Call,
    reasons: readonly string[],
  ): AccessDecision | Promise<AccessDecision> => {
    let told = reasons;
    for (let at = index; at < authorizers.length; at++) {
      const decision = (authorizers[at] as Authorizer).authorize(attributes, call);
      if (decision instanceof Promise)
        return decision.then((found) =>
          found.verdict === 'noOpinion' ? from(at + 1, attributes, call, withReason(told, found)) : found,
        );
      if (decision.verdict !== 'noOpinion') return decision;
      told = withReason(told, decision);
    }
    return { verdict: 'noOpinion', reason: told.join(', ') || undefined };
  };
  return {
    authorize: (attributes, call) => from(0, attributes, call, []),
    rulesOf: (user, namespace, call) => allRules(authorizers, user, namespace, call),
  };
}

const withReason = (reasons: readonly string[], { reason }: AccessDecision): readonly string[] =>
  reason ? [...reasons, reason] : reasons;
