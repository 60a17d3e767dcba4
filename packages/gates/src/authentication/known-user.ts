import type { UserInfo } from '@cluster-apiserver/model';
import { authenticatedGroup } from './authenticator.ts';

export const anonymousName = 'system:anonymous';
const unauthenticatedGroup = 'system:unauthenticated';

/** A user with the group of all who are known, or of those who are not: it is always in one of the two. */
export function ofKnownUser(user: UserInfo): UserInfo {
  const { name, groups } = user;
  if (groups.includes(unauthenticatedGroup)) return user;
  const group = name === anonymousName ? unauthenticatedGroup : authenticatedGroup;
  return groups.includes(group) ? user : { ...user, groups: [...groups, group] };
}
