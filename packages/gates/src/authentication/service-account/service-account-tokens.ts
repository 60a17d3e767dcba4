import type { Clock } from '@cluster-apiserver/base';
import { authenticatedGroup, type UserInfo } from '../authenticator.ts';
import { claimedIssuer, type Claims, type KeyFinder, verifiedClaims } from '../oidc/verified-claims.ts';
import type { TokenAuthenticator } from '../token-authenticator.ts';
import { TokenRejectedError } from '../token-rejected.ts';
import { accountGroups, accountIn, type AccountReference, accountUserName, isBound } from './claims.ts';

export interface ServiceAccountTokenOptions {
  /** All whose tokens are ours. */
  readonly issuers: readonly string[];
  /** Who we are, for tokens that are meant for us. */
  readonly audiences: readonly string[];
  readonly keys: KeyFinder;
  readonly findAccount: FindAccount;
  readonly clock: Clock;
}

/** An account that exists. */
export interface FoundAccount {
  readonly uid: string;
  /** When it was asked to go; it stays for as long as finalizers hold it. */
  readonly deletedAtMs: number | undefined;
}

/** Looks into memory, or, when asked `freshly`, no further back than now. */
export type FindAccount = (
  account: { readonly namespace: string; readonly name: string },
  freshly: boolean,
) => Promise<FoundAccount | undefined>;

/** What an account that is being deleted still has to finish, it may finish. */
const deletedLeewayMs = 60_000;

/**
 * Who the bearer of a service account's token is. A token counts as long as its account exists: that is looked up each
 * time, in memory; and before anybody is refused because memory knows no such account, the store is asked, because the
 * account may have been created at another replica a moment ago.
 */
export function serviceAccountTokens(options: ServiceAccountTokenOptions): TokenAuthenticator {
  const { issuers, audiences: own, keys, findAccount, clock } = options;

  const requireAccount = async (account: AccountReference): Promise<void> => {
    const exists = (found: FoundAccount | undefined): found is FoundAccount => found?.uid === account.uid;
    const remembered = await findAccount(account, false);
    const found = exists(remembered) ? remembered : await findAccount(account, true);
    if (!exists(found)) throw new TokenRejectedError('the service account of the token does not exist any more');
    if (found.deletedAtMs !== undefined && found.deletedAtMs < clock.now() - deletedLeewayMs)
      throw new TokenRejectedError('the service account of the token has been deleted');
  };

  return {
    authenticateToken: (token, audiences = own) => {
      const url = claimedIssuer(token);
      if (url === undefined || !issuers.includes(url)) return undefined;
      return (async () => {
        const claims = await verifiedClaims(token, { issuer: { url, audiences }, keys }, clock);
        const account = accountIn(claims);
        if (!account) throw new TokenRejectedError('the token names no service account');
        if (isBound(claims)) throw new TokenRejectedError('the token is bound to an object that does not exist');
        await requireAccount(account);
        const meant: readonly unknown[] = [claims['aud']].flat();
        return {
          user: userOf(account, claims),
          audiences: audiences.filter((audience) => meant.includes(audience)),
          expiresAtMs: claims.exp * 1000,
        };
      })();
    },
  };
}

function userOf(account: AccountReference, { jti }: Claims): UserInfo {
  return {
    name: accountUserName(account),
    uid: account.uid,
    groups: [...accountGroups(account.namespace), authenticatedGroup],
    // Tells the tokens of one account apart, for those who follow what was done with which.
    ...(typeof jti === 'string' &&
      jti !== '' && { extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${jti}`] } }),
  };
}
