import type { Call, Clock } from '@cluster-apiserver/base';
import type { ClaimMappings, ClaimRule, ExpressionRule } from '@cluster-apiserver/config';
import { addAuthenticatedGroup } from '../user-groups.ts';
import type { TokenAnswer, TokenAuthenticator } from '../token-authenticator.ts';
import { toClaimValues, mapClaims } from './claim-mapping.ts';
import type { DistributedClaims } from './distributed-claims.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import { checkClaimRules, checkUserRules } from './rules.ts';
import { readIssuer, verifyClaims } from './verify-claims.ts';

/** A trusted issuer, with the rules and mappings for its tokens. */
export interface JwtIssuer {
  readonly issuer: { readonly url: string; readonly audiences: readonly string[] };
  /** Accepted signing algorithms; undefined for all supported ones. */
  readonly algorithms?: readonly string[] | undefined;
  readonly keys: IssuerKeys;
  readonly distributedClaims: DistributedClaims;
  readonly claimRules: readonly ClaimRule[];
  readonly claimMappings: ClaimMappings;
  readonly userRules: readonly ExpressionRule[];
}

/**
 * Authenticates JWTs of the configured issuers. Returns undefined for tokens of other issuers, and throws a
 * `TokenRejectedError` for an invalid token of a configured one.
 */
export function createJwtAuthenticator(issuers: readonly JwtIssuer[], clock: Clock): TokenAuthenticator {
  const byUrl = new Map(issuers.map((configured) => [configured.issuer.url, configured]));
  return {
    authenticateToken: (token, call) => {
      const claimed = readIssuer(token);
      const found = claimed === undefined ? undefined : byUrl.get(claimed);
      return found && authenticateJwt(token, found, clock, call);
    },
  };
}

async function authenticateJwt(token: string, configured: JwtIssuer, clock: Clock, call: Call): Promise<TokenAnswer> {
  const { claimRules, claimMappings, userRules } = configured;
  const signed = await verifyClaims(token, configured, clock, call);
  const { groups } = claimMappings;
  const claims =
    groups?.from === 'claim'
      ? await configured.distributedClaims.resolve(signed, groups.claim, configured, call)
      : signed;
  const values = toClaimValues(claims);
  const user = mapClaims(claimMappings, claims, values);
  checkClaimRules(claimRules, claims, values);
  checkUserRules(userRules, user);
  return {
    user: addAuthenticatedGroup({ ...user, groups: [...new Set(user.groups)] }),
    expiresAtMs: claims.exp * 1000,
  };
}
