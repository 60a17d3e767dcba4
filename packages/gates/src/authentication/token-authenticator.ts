import type { Call } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';

/**
 * Finds out whose a bearer token is. Undefined means that it is none of its tokens; a `TokenRejectedError` that it is
 * one and does not hold. Requests and token reviews ask the same ones.
 */
export interface TokenAuthenticator<Answer extends TokenAnswer = TokenAnswer> {
  /** The token must be for one of the audiences, or for this API where none are given. */
  authenticateToken(
    token: string,
    call: Call,
    audiences?: readonly string[],
  ): Answer | undefined | Promise<Answer | undefined>;
}

export interface TokenAnswer {
  readonly user: UserInfo;
  /** Which of the audiences it is for. Undefined says: for this API, whatever that is called. */
  readonly audiences?: readonly string[] | undefined;
  /** When the token ends, in milliseconds of the epoch; undefined when it does not say. */
  readonly expiresAtMs?: number | undefined;
}
