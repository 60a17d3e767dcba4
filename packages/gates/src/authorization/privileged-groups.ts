import type { AccessDecision, UserInfo } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';
import { noRules } from './rules.ts';

/** Members may do everything, whatever else is configured: whoever locked everybody out can come back in this way. */
export const mastersGroup = 'system:masters';

/** Members may scrape, and decide which of their requests are traced. They have no other rights by themselves. */
export const monitoringGroup = 'system:monitoring';

const allow: AccessDecision = { verdict: 'allow' };
const noOpinion: AccessDecision = { verdict: 'noOpinion' };

export function createGroupAuthorizer(groups: readonly string[]): Authorizer {
  const isMember = ({ groups: own }: UserInfo): boolean => own.some((group) => groups.includes(group));
  return {
    authorize: ({ user }) => (isMember(user) ? allow : noOpinion),
    // The role cluster-admin shows it, as upstream.
    rulesOf: () => noRules,
  };
}
