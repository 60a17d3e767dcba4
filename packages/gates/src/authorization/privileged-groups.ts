import type { Authorizer } from './authorizer.ts';

/** Members may do everything, whatever else is configured: whoever locked everybody out can come back in this way. */
export const mastersGroup = 'system:masters';

export const privilegedGroups = (groups: readonly string[]): Authorizer => ({
  authorize: ({ user }) =>
    user.groups.some((group) => groups.includes(group)) ? { verdict: 'allow' } : { verdict: 'noOpinion' },
});
