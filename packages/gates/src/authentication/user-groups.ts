import type { UserInfo } from '@cluster-apiserver/model';
import { authenticatedGroup } from './authenticator.ts';

export const anonymousName = 'system:anonymous';
export const unauthenticatedGroup = 'system:unauthenticated';

/**
 * A user as an authenticator has found it, in the group of all who are authenticated. A credential that says
 * `system:anonymous` or `system:unauthenticated` has not made anybody known, so it gets no group.
 */
export function addAuthenticatedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  if (name === anonymousName || groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup))
    return user;
  return { ...user, groups: [...groups, authenticatedGroup] };
}

/** A user whom nobody has authenticated: it is always in one of the two groups. */
export function addAssumedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  if (groups.includes(unauthenticatedGroup)) return user;
  const group = name === anonymousName ? unauthenticatedGroup : authenticatedGroup;
  return groups.includes(group) ? user : { ...user, groups: [...groups, group] };
}
