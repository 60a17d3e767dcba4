import type { UserInfo } from '@cluster-apiserver/model';
import { authenticatedGroup } from './authenticator.ts';

export const anonymousName = 'system:anonymous';
export const unauthenticatedGroup = 'system:unauthenticated';

/**
 * Adds `system:authenticated`. Credentials for `system:anonymous` or `system:unauthenticated` identify no user, so they do
 * not get the group.
 */
export function addAuthenticatedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  if (name === anonymousName || groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup))
    return user;
  return { ...user, groups: [...groups, authenticatedGroup] };
}

/** Adds one of the two groups to an impersonated or anonymous user. */
export function addAssumedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  if (groups.includes(unauthenticatedGroup)) return user;
  const group = name === anonymousName ? unauthenticatedGroup : authenticatedGroup;
  return groups.includes(group) ? user : { ...user, groups: [...groups, group] };
}
