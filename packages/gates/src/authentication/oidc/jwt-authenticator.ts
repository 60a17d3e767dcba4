import type { Call, Clock } from '@cluster-apiserver/base';
import { authenticatedUser } from '../known-user.ts';
import type { TokenAnswer, TokenAuthenticator } from '../token-authenticator.ts';
import { type ClaimMappings, claimValues, userFrom } from './claim-mapping.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { checkClaimRules, checkUserRules, type ClaimRule, type ExpressionRule } from './rules.ts';
import { claimedIssuer, verifiedClaims } from './verified-claims.ts';

/** An issuer whose tokens are believed, and what they are made into. */
export interface JwtIssuer {
  readonly issuer: { readonly url: string; readonly audiences: readonly string[] };
  /** Those that it may sign with; undefined for all that are allowed at all. */
  readonly algorithms?: readonly string[] | undefined;
  readonly keys: IssuerKeys;
  readonly claimRules: readonly ClaimRule[];
  readonly claimMappings: ClaimMappings;
  readonly userRules: readonly ExpressionRule[];
}

/**
 * Who the bearer of a signed token is. Undefined for tokens of other issuers; a `TokenRejectedError` for one of ours
 * that does not hold.
 */
export function jwtAuthenticator(issuers: readonly JwtIssuer[], clock: Clock): TokenAuthenticator {
  const byUrl = new Map(issuers.map((configured) => [configured.issuer.url, configured]));
  return {
    authenticateToken: (token, call) => {
      const claimed = claimedIssuer(token);
      const found = claimed === undefined ? undefined : byUrl.get(claimed);
      return found && userBehind(token, found, clock, call);
    },
  };
}

async function userBehind(token: string, configured: JwtIssuer, clock: Clock, call: Call): Promise<TokenAnswer> {
  const { claimRules, claimMappings, userRules } = configured;
  const claims = await verifiedClaims(token, configured, clock, call);
  const values = claimValues(claims);
  const user = userFrom(claimMappings, claims, values);
  checkClaimRules(claimRules, claims, values);
  checkUserRules(userRules, user);
  return {
    user: authenticatedUser({ ...user, groups: [...new Set(user.groups)] }),
    expiresAtMs: claims.exp * 1000,
  };
}
