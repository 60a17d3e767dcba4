import type { Call } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';

/**
 * Finds the user of a bearer token, for requests and for TokenReviews. Returns undefined if the token is not of its kind,
 * and throws a `TokenRejectedError` if it is and is invalid.
 */
export interface TokenAuthenticator<Answer extends TokenAnswer = TokenAnswer> {
  /** The token must be for one of the audiences, or for this API if none are given. */
  authenticateToken(
    token: string,
    call: Call,
    audiences?: readonly string[],
  ): Answer | undefined | Promise<Answer | undefined>;
}

export interface TokenAnswer {
  readonly user: UserInfo;
  /** The audiences that match; undefined if the token is for this API. */
  readonly audiences?: readonly string[] | undefined;
  /** Expiration of the token in milliseconds since the epoch; undefined if it has none. */
  readonly expiresAtMs?: number | undefined;
  /** For the client that uses the token. */
  readonly warning?: string | undefined;
  /** For the audit event of the request. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}
