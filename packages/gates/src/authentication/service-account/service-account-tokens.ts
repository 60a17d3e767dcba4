import { credentialIdKey, tokenCredentialId } from '../credential-id.ts';
import { bytesOfText, type Call, chain, type Clock, ExpiringCache } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import { authenticatedGroup } from '../authenticator.ts';
import { readIssuer, type Claims, type KeyFinder, verifyClaims } from '../oidc/verify-claims.ts';
import type { TokenAnswer, TokenAuthenticator } from '../token-authenticator.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';
import { getAccountUserName } from './account-name.ts';
import { getAccountGroups, readAccount, type AccountReference, isBoundToObject } from './claims.ts';

export interface AccountAnswer extends TokenAnswer {
  readonly account: AccountReference;
}

export interface SignedAccountOptions {
  /** Issuers whose tokens are accepted. */
  readonly issuers: readonly string[];
  /** Audiences of this API. */
  readonly audiences: readonly string[];
  readonly keys: KeyFinder;
  readonly clock: Clock;
}

/** Verifies service account tokens. Does not check whether the account exists. */
export function createAccountTokenAuthenticator({
  issuers,
  audiences: own,
  keys,
  clock,
}: SignedAccountOptions): TokenAuthenticator<AccountAnswer> {
  const verifyToken = async (
    token: string,
    url: string,
    audiences: readonly string[],
    call: Call,
  ): Promise<AccountAnswer> => {
    const claims = await verifyClaims(token, { issuer: { url, audiences }, keys }, clock, call);
    const account = readAccount(claims);
    if (!account) throw new TokenRejectedError('the token names no service account');
    if (isBoundToObject(claims)) throw new TokenRejectedError('the token is bound to an object that does not exist');
    const meant: readonly unknown[] = [claims['aud']].flat();
    return {
      account,
      user: userOf(account, claims),
      audiences: audiences.filter((audience) => meant.includes(audience)),
      expiresAtMs: claims.exp * 1000,
    };
  };
  return {
    authenticateToken: (token, call, audiences = own) => {
      const url = readIssuer(token);
      return url !== undefined && issuers.includes(url) ? verifyToken(token, url, audiences, call) : undefined;
    },
  };
}

function userOf(account: AccountReference, { jti }: Claims): UserInfo {
  const { namespace, uid } = account;
  const credentialId = tokenCredentialId(jti);
  return {
    name: getAccountUserName(account),
    uid,
    groups: [...getAccountGroups(namespace), authenticatedGroup],
    ...(credentialId !== undefined && { extra: { [credentialIdKey]: [credentialId] } }),
  };
}

/** An existing account. */
export interface FoundAccount {
  readonly uid: string;
  /** Deletion timestamp; finalizers may keep the account. */
  readonly deletedAtMs: number | undefined;
}

/** Reads the watch cache, or etcd if `freshly` is set. */
export type FindAccount = (
  account: Pick<AccountReference, 'namespace' | 'name'>,
  freshly: boolean,
  call: Call,
) => FoundAccount | undefined | Promise<FoundAccount | undefined>;

/** Time for which tokens of an account under deletion stay valid, so that its work can finish. */
const deletedLeewayMs = 60_000;

/** Time to cache that an account does not exist, and the maximum number and size of such entries. */
const absentMs = 10_000;
const absentMax = 4_096;
const absentBytesMax = 4 * 1024 * 1024;

/**
 * Accepts tokens only while their account exists. Each use reads the watch cache. Before a rejection the account is read
 * from etcd, because another replica may just have created it. A UID that does not exist never comes into existence later,
 * so absence is cached: tokens of deleted accounts cost few reads of etcd.
 */
export function requireExistingAccounts(
  signed: TokenAuthenticator<AccountAnswer>,
  findAccount: FindAccount,
  clock: Clock,
): TokenAuthenticator {
  const absent = new ExpiringCache<true>(clock, {
    entriesMax: absentMax,
    bytesMax: absentBytesMax,
    bytesOf: bytesOfText,
  });
  const findFresh = async (
    account: AccountReference,
    isSameAccount: (found: FoundAccount | undefined) => found is FoundAccount,
    call: Call,
  ): Promise<FoundAccount | undefined> => {
    const key = JSON.stringify([account.namespace, account.name, account.uid]);
    if (absent.get(key)) return undefined;
    const found = await findAccount(account, true, call);
    if (isSameAccount(found)) return found;
    absent.set(key, true, absentMs);
    return undefined;
  };
  const acceptAnswer = (answer: AccountAnswer, found: FoundAccount | undefined): AccountAnswer => {
    if (!found) throw new TokenRejectedError('the service account of the token does not exist any more');
    if (found.deletedAtMs !== undefined && found.deletedAtMs < clock.now() - deletedLeewayMs)
      throw new TokenRejectedError('the service account of the token has been deleted');
    return answer;
  };
  /** Synchronous if the watch cache has the account: nearly every request has such a token. */
  const requireAccount = (
    answer: AccountAnswer | undefined,
    call: Call,
  ): AccountAnswer | undefined | Promise<AccountAnswer | undefined> => {
    if (!answer) return undefined;
    const { account } = answer;
    const isIt = (found: FoundAccount | undefined): found is FoundAccount => found?.uid === account.uid;
    const checked = (remembered: FoundAccount | undefined): AccountAnswer | Promise<AccountAnswer> =>
      isIt(remembered)
        ? acceptAnswer(answer, remembered)
        : findFresh(account, isIt, call).then((found) => acceptAnswer(answer, found));
    return chain(findAccount(account, false, call), checked);
  };
  return {
    authenticateToken: (token, call, audiences) =>
      chain(signed.authenticateToken(token, call, audiences), (answer) => requireAccount(answer, call)),
  };
}
