import type { Call, Clock } from '@cluster-apiserver/base';
import type { AccessDecision, AccessAttributes, AccessRules, UserInfo } from '@cluster-apiserver/model';

/** The services of the server that reviews use. */
export interface ReviewServices {
  readonly clock: Clock;
  /** Whose a token is, for one of the audiences, or for this API where none are named. */
  readonly authenticateToken: (token: string, audiences: readonly string[], call: Call) => Promise<TokenHolder>;
  /** The attributes of a request that authorizers decide by. */
  readonly authorize: (attributes: AccessAttributes, call: Call) => AccessDecision | Promise<AccessDecision>;
  /** The rules that apply to a user in a namespace, as far as they can be listed. */
  readonly rulesOf: (user: UserInfo, namespace: string, call: Call) => AccessRules | Promise<AccessRules>;
}

export type TokenHolder =
  | { readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly user?: undefined; readonly error: string };
