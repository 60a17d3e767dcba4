/**
 * Tokens in Secrets of the type kubernetes.io/service-account-token. They have no expiration: such a token is valid as long
 * as its Secret contains it and its account exists.
 */
import type { Call } from '@cluster-apiserver/base';
import { SignJWT } from 'jose';
import { authenticatedGroup } from '../authenticator.ts';
import { type KeyFinder, readIssuer, verifyIssuer } from '../oidc/verify-claims.ts';
import type { TokenAnswer, TokenAuthenticator } from '../token-authenticator.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';
import { getAccountUserName } from './account-name.ts';
import { type AccountReference, getAccountGroups } from './claims.ts';
import type { SigningKey } from './keys.ts';

/** As in Kubernetes, whatever issuers the flags name. */
const issuer = 'kubernetes/serviceaccount';
const claimPrefix = 'kubernetes.io/serviceaccount/';

/** Two tokens of one RSA key for the same secret are equal, because nothing in them depends on the time. */
export const signSecretToken = (
  { key, kid, alg }: SigningKey,
  account: AccountReference,
  secretName: string,
): Promise<string> =>
  new SignJWT({
    iss: issuer,
    [`${claimPrefix}namespace`]: account.namespace,
    [`${claimPrefix}secret.name`]: secretName,
    [`${claimPrefix}service-account.name`]: account.name,
    [`${claimPrefix}service-account.uid`]: account.uid,
    sub: getAccountUserName(account),
  })
    .setProtectedHeader({ alg, kid })
    .sign(key);

export interface SecretTokenAnswer extends TokenAnswer {
  readonly account: AccountReference;
  readonly secretName: string;
}

/** Verifies the signatures of these tokens. Does not check whether secret and account exist. */
export function createSecretTokenAuthenticator(
  own: readonly string[],
  keys: KeyFinder,
): TokenAuthenticator<SecretTokenAnswer> {
  const verifyToken = async (token: string, audiences: readonly string[], call: Call): Promise<SecretTokenAnswer> => {
    const claims = await verifyIssuer(token, { issuer: { url: issuer }, keys }, call);
    const [namespace, secretName, name, uid] = [
      'namespace',
      'secret.name',
      'service-account.name',
      'service-account.uid',
    ]
      .map((claim) => claims[claimPrefix + claim])
      .map((value) => (typeof value === 'string' && value !== '' ? value : undefined));
    if (namespace === undefined || secretName === undefined || name === undefined || uid === undefined)
      throw new TokenRejectedError('the token does not name a service account and its secret');
    const account = { namespace, name, uid };
    const userName = getAccountUserName(account);
    if (claims['sub'] !== userName) throw new TokenRejectedError('the subject of the token is not its service account');
    // Without audiences it is for this API.
    const meant: readonly unknown[] = claims['aud'] === undefined ? own : [claims['aud']].flat();
    const good = audiences.filter((audience) => meant.includes(audience));
    if (good.length === 0) throw new TokenRejectedError('the token is for other audiences');
    const groups = [...getAccountGroups(namespace), authenticatedGroup];
    return { account, secretName, user: { name: userName, uid, groups }, audiences: good };
  };
  return {
    authenticateToken: (token, call, audiences = own) =>
      readIssuer(token) === issuer ? verifyToken(token, audiences, call) : undefined,
  };
}
