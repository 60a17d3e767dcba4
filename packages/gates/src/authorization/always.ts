import type { AccessDecision } from '@cluster-apiserver/model';
import { unauthenticatedGroup } from '../authentication/user-groups.ts';
import type { Authorizer } from './authorizer.ts';
import { everything, noRules } from './rules.ts';

const allow: AccessDecision = { verdict: 'allow' };
const noOpinion: AccessDecision = { verdict: 'noOpinion' };
const everythingForbidden: AccessDecision = { verdict: 'noOpinion', reason: 'Everything is forbidden.' };

/**
 * Allows everything to everybody who is authenticated. kube-apiserver switches anonymous requests off beside this
 * authorizer; here they keep the rights that others give them, and get none from this one.
 */
export const alwaysAllow: Authorizer = {
  authorize: ({ user }) => (user.groups.includes(unauthenticatedGroup) ? noOpinion : allow),
  rulesOf: ({ groups }) => (groups.includes(unauthenticatedGroup) ? noRules : everything),
};

/** Has no opinion on anything, as in kube-apiserver: alone it leaves everything forbidden, and others may still allow. */
export const alwaysDeny: Authorizer = {
  authorize: () => everythingForbidden,
  rulesOf: () => noRules,
};
