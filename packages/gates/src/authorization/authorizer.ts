import type { Call } from '@cluster-apiserver/base';
import type { AccessDecision, AccessAttributes, AccessRules, UserInfo } from '@cluster-apiserver/model';

export interface Authorizer {
  authorize(attributes: AccessAttributes, call: Call): AccessDecision | Promise<AccessDecision>;
  /** The rules of a user in a namespace. Absent if the authorizer cannot list them. */
  readonly rulesOf?: (user: UserInfo, namespace: string, call: Call) => AccessRules | Promise<AccessRules>;
}
