import type { Call, Clock } from '@cluster-apiserver/base';
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
  /** All whose tokens are ours. */
  readonly issuers: readonly string[];
  /** Who we are, for tokens that are meant for us. */
  readonly audiences: readonly string[];
  readonly keys: KeyFinder;
  readonly clock: Clock;
}

/** Of which service account a token says that it is, signed by one of our keys. Whether there is such an account is not asked. */
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
  // Tells the tokens of one account apart, for those who follow what was done with which.
  const credential = typeof jti === 'string' && jti !== '' && { [credentialIdKey]: [`JTI=${jti}`] };
  return {
    name: getAccountUserName(account),
    uid,
    groups: [...getAccountGroups(namespace), authenticatedGroup],
    ...(credential && { extra: credential }),
  };
}

const credentialIdKey = 'authentication.kubernetes.io/credential-id';

/** An account that exists. */
export interface FoundAccount {
  readonly uid: string;
  /** When it was asked to go; it stays for as long as finalizers hold it. */
  readonly deletedAtMs: number | undefined;
}

/** Looks into memory, nearly always at once, or, when asked `freshly`, at what is stored now. */
export type FindAccount = (
  account: Pick<AccountReference, 'namespace' | 'name'>,
  freshly: boolean,
  call: Call,
) => FoundAccount | undefined | Promise<FoundAccount | undefined>;

/** What an account that is being deleted has begun, it may finish. */
const deletedLeewayMs = 60_000;

/** How long an account that does not exist is not asked for again, and how many of them are remembered. */
const absentMs = 10_000;
const absentMax = 4_096;

/**
 * A token counts for as long as its account exists. That is looked up each time, in memory; and before anybody is
 * refused because memory knows no such account, it is asked freshly, because the account may have been created at
 * another replica a moment ago. A uid that was once found absent does not come into being later, so that is remembered:
 * the token of an account that is gone costs the storage one read in a while, and not one for each use.
 */
export function requireExistingAccounts(
  signed: TokenAuthenticator<AccountAnswer>,
  findAccount: FindAccount,
  clock: Clock,
): TokenAuthenticator {
  /** Until when. In the order of their ends, because all last equally long. */
  const absent = new Map<string, number>();
  const isAbsent = (key: string): boolean => clock.monotonicMs() < (absent.get(key) ?? Number.NEGATIVE_INFINITY);
  const noteAbsent = (key: string): void => {
    absent.delete(key); // so that it goes to the end
    const [oldest] = absent.keys();
    if (oldest !== undefined && absent.size >= absentMax) absent.delete(oldest);
    absent.set(key, clock.monotonicMs() + absentMs);
  };
  const findFresh = async (
    account: AccountReference,
    isSameAccount: (found: FoundAccount | undefined) => found is FoundAccount,
    call: Call,
  ): Promise<FoundAccount | undefined> => {
    const key = JSON.stringify([account.namespace, account.name, account.uid]);
    if (isAbsent(key)) return undefined;
    const found = await findAccount(account, true, call);
    if (isSameAccount(found)) return found;
    noteAbsent(key);
    return undefined;
  };
  const acceptAnswer = (answer: AccountAnswer, found: FoundAccount | undefined): AccountAnswer => {
    if (!found) throw new TokenRejectedError('the service account of the token does not exist any more');
    if (found.deletedAtMs !== undefined && found.deletedAtMs < clock.now() - deletedLeewayMs)
      throw new TokenRejectedError('the service account of the token has been deleted');
    return answer;
  };
  /** Waits for nobody while memory knows the account: these tokens come with nearly every request. */
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
    const remembered = findAccount(account, false, call);
    return remembered instanceof Promise ? remembered.then(checked) : checked(remembered);
  };
  return {
    authenticateToken: (token, call, audiences) => {
      const answer = signed.authenticateToken(token, call, audiences);
      return answer instanceof Promise
        ? answer.then((found) => requireAccount(found, call))
        : requireAccount(answer, call);
    },
  };
}
