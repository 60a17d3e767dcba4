import { chain, firstOf } from '@cluster-apiserver/base';
import type { AccessDecision } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';
import { collectRules, combineErrors } from './rules.ts';

/**
 * Calls the authorizers in order until one decides. If none does, combines their reasons, errors and annotations; the
 * verdict is `notReady` if one of them is not ready.
 */
export const uniteAuthorizers = (authorizers: readonly Authorizer[]): Required<Authorizer> => ({
  authorize: (attributes, call) => {
    const undecided: AccessDecision[] = [];
    const decided = firstOf(authorizers, (authorizer) =>
      chain(authorizer.authorize(attributes, call), (decision) => {
        if (isDecided(decision)) return decision;
        if (hasContent(decision)) undecided.push(decision);
        return undefined;
      }),
    );
    return chain(decided, (decision) => decision ?? (undecided.length > 0 ? combineUndecided(undecided) : noOpinion));
  },
  rulesOf: (user, namespace, call) => collectRules(authorizers, user, namespace, call),
});

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
