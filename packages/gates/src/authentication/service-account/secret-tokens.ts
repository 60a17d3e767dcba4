/**
 * Tokens in Secrets of the type kubernetes.io/service-account-token. They have no expiration: such a token is valid as long
 * as its Secret contains it and its account exists.
 */
import { SignJWT } from 'jose';
import { authenticatedGroup } from '../authenticator.ts';
import type { Claims } from '../oidc/verify-claims.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';
import { getAccountUserName } from './account-name.ts';
import { type AccountReference, getAccountGroups } from './claims.ts';
import type { SigningKey } from './keys.ts';
import type { AccountAnswer } from './referents.ts';

/** As in Kubernetes, whatever issuers the flags name. */
export const secretTokenIssuer = 'kubernetes/serviceaccount';
const claimPrefix = 'kubernetes.io/serviceaccount/';

/** Two tokens of one RSA key for the same secret are equal, because nothing in them depends on the time. */
export const signSecretToken = (
  { key, kid, alg }: SigningKey,
  account: AccountReference,
  secretName: string,
): Promise<string> =>
  new SignJWT({
    iss: secretTokenIssuer,
    [`${claimPrefix}namespace`]: account.namespace,
    [`${claimPrefix}secret.name`]: secretName,
    [`${claimPrefix}service-account.name`]: account.name,
    [`${claimPrefix}service-account.uid`]: account.uid,
    sub: getAccountUserName(account),
  })
    .setProtectedHeader({ alg, kid })
    .sign(key);

/** The answer to a token with these claims, whose signature is right. Without audiences it is for this API. */
export function readSecretToken(claims: Claims, own: readonly string[], audiences: readonly string[]): AccountAnswer {
  const [namespace, secretName, name, uid] = ['namespace', 'secret.name', 'service-account.name', 'service-account.uid']
    .map((claim) => claims[claimPrefix + claim])
    .map((value) => (typeof value === 'string' && value !== '' ? value : undefined));
  if (namespace === undefined || secretName === undefined || name === undefined || uid === undefined)
    throw new TokenRejectedError('the token does not name a service account and its secret');
  const account = { namespace, name, uid };
  const userName = getAccountUserName(account);
  if (claims['sub'] !== userName) throw new TokenRejectedError('the subject of the token is not its service account');
  const meant: readonly unknown[] = claims['aud'] === undefined ? own : [claims['aud']].flat();
  const good = audiences.filter((audience) => meant.includes(audience));
  if (good.length === 0) throw new TokenRejectedError('the token is for other audiences');
  const groups = [...getAccountGroups(namespace), authenticatedGroup];
  return { account, secret: undefined, secretName, user: { name: userName, uid, groups }, audiences: good };
}
