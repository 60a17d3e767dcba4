import { type Call, requireValue } from '@cluster-apiserver/base';
import type { AccessDecision, AccessAttributes } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';
import { collectRules, combineErrors } from './rules.ts';

/**
 * Calls the authorizers in order until one decides. If none does, combines their reasons, errors and annotations; the
 * verdict is `notReady` if one of them is not ready.
 */
export function uniteAuthorizers(authorizers: readonly Authorizer[]): Required<Authorizer> {
  const from = (
    index: number,
    attributes: AccessAttributes,
    call: Call,
    undecided: readonly AccessDecision[],
  ): AccessDecision | Promise<AccessDecision> => {
    let found = undecided;
    for (let at = index; at < authorizers.length; at++) {
      const decision = requireValue(authorizers[at]).authorize(attributes, call);
      if (decision instanceof Promise)
        return decision.then((one) => (isDecided(one) ? one : from(at + 1, attributes, call, [...found, one])));
      if (isDecided(decision)) return decision;
      if (hasContent(decision)) found = [...found, decision];
    }
    return found.length === 0 ? noOpinion : combineUndecided(found);
  };
  return {
    authorize: (attributes, call) => from(0, attributes, call, none),
    rulesOf: (user, namespace, call) => collectRules(authorizers, user, namespace, call),
  };
}

const none: readonly AccessDecision[] = [];
const noOpinion: AccessDecision = { verdict: 'noOpinion' };

const isDecided = ({ verdict }: AccessDecision): boolean => verdict === 'allow' || verdict === 'deny';

const hasContent = ({ verdict, reason, error, annotations }: AccessDecision): boolean =>
  verdict === 'notReady' || Boolean(reason) || error !== undefined || annotations !== undefined;

function combineUndecided(undecided: readonly AccessDecision[]): AccessDecision {
  const reason = undecided.flatMap((one) => one.reason || []).join(', ');
  const error = combineErrors(undecided.flatMap((one) => one.error ?? []));
  const annotations = undecided.flatMap((one) => Object.entries(one.annotations ?? {}));
  return {
    verdict: undecided.some(({ verdict }) => verdict === 'notReady') ? 'notReady' : 'noOpinion',
    ...(reason && { reason }),
    ...(error && { error }),
    ...(annotations.length > 0 && { annotations: Object.fromEntries(annotations) }),
  };
}
