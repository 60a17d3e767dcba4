import type { AccessDecision } from '@cluster-apiserver/model';
import { unauthenticatedGroup } from '../authentication/user-groups.ts';
import type { Authorizer } from './authorizer.ts';
import { everything, noRules } from './rules.ts';

const allow: AccessDecision = { verdict: 'allow' };
const noOpinion: AccessDecision = { verdict: 'noOpinion' };
const everythingForbidden: AccessDecision = { verdict: 'noOpinion', reason: 'Everything is forbidden.' };

/**
 * Allows everything to authenticated users. kube-apiserver disables anonymous requests with this authorizer; here they keep
 * the permissions that other authorizers grant.
 */
export const alwaysAllow: Authorizer = {
  authorize: ({ user }) => (user.groups.includes(unauthenticatedGroup) ? noOpinion : allow),
  rulesOf: ({ groups }) => (groups.includes(unauthenticatedGroup) ? noRules : everything),
};

/** Has no opinion, as in kube-apiserver: other authorizers may still allow a request. */
export const alwaysDeny: Authorizer = {
  authorize: () => everythingForbidden,
  rulesOf: () => noRules,
};
