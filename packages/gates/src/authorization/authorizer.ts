import type { Call } from '@cluster-apiserver/base';
import type { AccessDecision, AccessQuestion, AccessRules, UserInfo } from '@cluster-apiserver/model';

export interface Authorizer {
  authorize(question: AccessQuestion, call: Call): AccessDecision | Promise<AccessDecision>;
  /** What it allows a user in a namespace. Left out by those who cannot say it beforehand. */
  rulesOf?(user: UserInfo, namespace: string, call: Call): AccessRules | Promise<AccessRules>;
}
