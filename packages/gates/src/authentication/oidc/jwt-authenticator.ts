import type { Clock } from '@cluster-apiserver/base';
import { authenticatedGroup } from '../authenticator.ts';
import type { TokenAnswer, TokenAuthenticator } from '../token-authenticator.ts';
import { type ClaimMappings, claimValues, userFrom } from './claim-mapping.ts';
import type { Get } from './https-get.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { checkClaimRules, checkUserRules, type ClaimRule, type ExpressionRule } from './rules.ts';
import { claimedIssuer, verifiedClaims } from './verified-claims.ts';

/** An issuer whose tokens are believed, and what they are made into. */
export interface JwtIssuer {
  readonly issuer: {
    readonly url: string;
    readonly discoveryUrl: string | undefined;
    readonly audiences: readonly string[];
  };
  readonly claimRules: readonly ClaimRule[];
  readonly claimMappings: ClaimMappings;
  readonly userRules: readonly ExpressionRule[];
  /** Fetches what the issuer publishes, by the certificates and the way that are configured for it. */
  readonly get: Get;
}

/**
 * Who the bearer of a signed token is. Undefined for tokens of other issuers; a `TokenRejectedError` for one of ours
 * that does not hold. The signal ends what still waits for an issuer.
 */
export function jwtAuthenticator(issuers: readonly JwtIssuer[], clock: Clock, signal: AbortSignal): TokenAuthenticator {
  const byUrl = new Map(
    issuers.map((configured) => {
      const { issuer, get } = configured;
      return [issuer.url, { ...configured, keys: new IssuerKeys(issuer, get, clock, signal) }] as const;
    }),
  );
  return {
    authenticateToken: (token) => {
      const claimed = claimedIssuer(token);
      const found = claimed === undefined ? undefined : byUrl.get(claimed);
      return found && userBehind(token, found, clock);
    },
  };
}

async function userBehind(
  token: string,
  { issuer, keys, claimRules, claimMappings, userRules }: JwtIssuer & { readonly keys: IssuerKeys },
  clock: Clock,
): Promise<TokenAnswer> {
  const claims = await verifiedClaims(token, issuer, keys, clock);
  const values = claimValues(claims);
  const user = userFrom(claimMappings, claims, values);
  checkClaimRules(claimRules, claims, values);
  checkUserRules(userRules, user);
  return {
    user: { ...user, groups: [...new Set([...user.groups, authenticatedGroup])] },
    expiresAtMs: claims.exp * 1000,
  };
}
