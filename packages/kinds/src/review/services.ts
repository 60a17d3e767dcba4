import type { Call, Clock } from '@cluster-apiserver/base';
import type { AccessDecision, AccessQuestion, AccessRules, UserInfo } from '@cluster-apiserver/model';

/** What reviews ask of the server. */
export interface ReviewServices {
  readonly clock: Clock;
  /** Whose a token is, for one of the audiences, or for this API where none are named. */
  authenticateToken(token: string, audiences: readonly string[], call: Call): Promise<TokenHolder>;
  /** May this user do this? */
  authorize(question: AccessQuestion, call: Call): AccessDecision | Promise<AccessDecision>;
  /** What a user may do in a namespace, as far as it can be listed. */
  rulesOf(user: UserInfo, namespace: string, call: Call): AccessRules | Promise<AccessRules>;
}

export type TokenHolder =
  | { readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly user?: undefined; readonly error: string };
