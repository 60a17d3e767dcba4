import type { AccessDecision, UserInfo } from '@cluster-apiserver/model';
import type { Authorizer } from './authorizer.ts';
import { noRules } from './rules.ts';

/** Members are allowed everything, with any configuration, so that a locked-out cluster can be recovered. */
export const mastersGroup = 'system:masters';

/** Members may scrape metrics, and choose which of their requests are traced. */
export const monitoringGroup = 'system:monitoring';

const allow: AccessDecision = { verdict: 'allow' };
const noOpinion: AccessDecision = { verdict: 'noOpinion' };

export function createGroupAuthorizer(groups: readonly string[]): Authorizer {
  const isMember = ({ groups: own }: UserInfo): boolean => own.some((group) => groups.includes(group));
  return {
    authorize: ({ user }) => (isMember(user) ? allow : noOpinion),
    // As in kube-apiserver, the rules of cluster-admin list these permissions.
    rulesOf: () => noRules,
  };
}
