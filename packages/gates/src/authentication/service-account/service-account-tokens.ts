import { credentialIdKey, tokenCredentialId } from '../credential-id.ts';
import { bytesOfText, type Call, chain, type Clock, ExpiringCache } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import { authenticatedGroup } from '../authenticator.ts';
import { readIssuer, type Claims, type KeyFinder, verifyClaims, verifyIssuer } from '../oidc/verify-claims.ts';
import type { TokenAuthenticator } from '../token-authenticator.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';
import { getAccountUserName } from './account-name.ts';
import { type AccountReference, getAccountGroups, isBoundElsewhere, readAccount, readBoundSecret } from './claims.ts';
import type { AccountAnswer, FoundReferent, TokenReferent } from './referents.ts';
import { createSecretCheck, type ReferentOptions } from './require-secret.ts';
import { readSecretToken, secretTokenIssuer } from './secret-tokens.ts';

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
    if (isBoundElsewhere(claims)) throw new TokenRejectedError('the token is bound to an object that does not exist');
    const meant: readonly unknown[] = [claims['aud']].flat();
    return {
      account,
      secret: readBoundSecret(claims),
      user: userOf(account, claims),
      audiences: audiences.filter((audience) => meant.includes(audience)),
      expiresAtMs: claims.exp * 1000,
    };
  };
  const verifySecretToken = async (token: string, audiences: readonly string[], call: Call): Promise<AccountAnswer> => {
    const claims = await verifyIssuer(token, { issuer: { url: secretTokenIssuer }, keys }, call);
    // An operator may have given the name to the issuer of the others, too.
    return readAccount(claims) && issuers.includes(secretTokenIssuer)
      ? verifyToken(token, secretTokenIssuer, audiences, call)
      : readSecretToken(claims, own, audiences);
  };
  return {
    authenticateToken: (token, call, audiences = own) => {
      const url = readIssuer(token);
      if (url === secretTokenIssuer) return verifySecretToken(token, audiences, call);
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

/** Time for which tokens of an account under deletion stay valid, so that its work can finish. */
const deletedLeewayMs = 60_000;

/** Time to cache that an object does not exist, and the maximum number and size of such entries. */
const absentMs = 10_000;
const absentMax = 4_096;
const absentBytesMax = 4 * 1024 * 1024;

const words = { ServiceAccount: 'the service account of the token', Secret: 'the secret that the token is bound to' };

/**
 * Accepts tokens only while their account exists, and the secret that they are bound to. Each use reads the watch cache.
 * Before a rejection the object is read from etcd, because another replica may just have created it. A UID that does not
 * exist never comes into existence later, so absence is cached: tokens of deleted objects cost few reads of etcd.
 */
export function requireExistingReferents(
  signed: TokenAuthenticator<AccountAnswer>,
  options: ReferentOptions,
): TokenAuthenticator {
  const { find, clock } = options;
  const requireSecret = createSecretCheck(options);
  const absent = new ExpiringCache<true>(clock, {
    entriesMax: absentMax,
    bytesMax: absentBytesMax,
    bytesOf: bytesOfText,
  });
  const findFresh = async (referent: TokenReferent, call: Call): Promise<FoundReferent | undefined> => {
    const { kind, namespace, name, uid } = referent;
    const key = JSON.stringify([kind, namespace, name, uid]);
    if (absent.get(key)) return undefined;
    const found = await find(referent, true, call);
    if (found?.uid === uid) return found;
    absent.set(key, true, absentMs);
    return undefined;
  };
  const acceptAnswer = (answer: AccountAnswer, { kind }: TokenReferent, found: FoundReferent | undefined) => {
    if (!found) throw new TokenRejectedError(`${words[kind]} does not exist any more`);
    const deletedAt = found.lifecycle?.deletionTimestamp;
    if (deletedAt !== undefined && Date.parse(deletedAt) < clock.now() - deletedLeewayMs)
      throw new TokenRejectedError(`${words[kind]} has been deleted`);
    return answer;
  };
  /** Synchronous if the watch cache has the object: nearly every request has such a token. */
  const requireReferent = (
    answer: AccountAnswer,
    referent: TokenReferent,
    call: Call,
  ): AccountAnswer | Promise<AccountAnswer> =>
    chain(find(referent, false, call), (remembered) =>
      remembered?.uid === referent.uid
        ? acceptAnswer(answer, referent, remembered)
        : findFresh(referent, call).then((found) => acceptAnswer(answer, referent, found)),
    );
  const requireReferents = (answer: AccountAnswer | undefined, call: Call) => {
    if (!answer) return undefined;
    const { account, secret } = answer;
    const accepted = requireReferent(answer, { ...account, kind: 'ServiceAccount' }, call);
    if (!secret) return accepted;
    return chain(accepted, () =>
      requireReferent(answer, { ...secret, kind: 'Secret', namespace: account.namespace }, call),
    );
  };
  return {
    authenticateToken: (token, call, audiences) =>
      chain(signed.authenticateToken(token, call, audiences), (answer) =>
        answer?.secretName === undefined
          ? requireReferents(answer, call)
          : requireSecret({ ...answer, secretName: answer.secretName }, token, call),
      ),
  };
}
