import { getOwn, keepText } from '@cluster-apiserver/base';
import type { ClaimMapping, ClaimMappings } from '@cluster-apiserver/config';
import { type Expression, fromJson, type Value } from '@cluster-apiserver/expressions';
import type { UserInfo } from '@cluster-apiserver/model';
import { credentialIdKey, tokenCredentialId } from '../credential-id.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';
import type { Claims } from './verify-claims.ts';

/** Maps claims to a user. `values` are the same claims for expressions. */
export function mapClaims(mappings: ClaimMappings, claims: Claims, values: Values): UserInfo {
  const name = readStringClaim('username', mappings.username, claims, values);
  if (name === '') throw new TokenRejectedError('the username is empty');
  const uid = mappings.uid ? readStringClaim('uid', mappings.uid, claims, values) : '';
  const credentialId = tokenCredentialId(getOwn(claims, 'jti'));
  const extra = mappings.extra
    .map(
      ({ key, expression }) => [key, toStrings(`extra ${key}`, evaluate(`extra ${key}`, expression, values))] as const,
    )
    .filter(([, held]) => held.length > 0);
  return {
    name,
    ...(uid !== '' && { uid }),
    groups: mappings.groups ? readGroups(mappings.groups, claims, values) : [],
    ...((extra.length > 0 || credentialId !== undefined) && {
      extra: { ...(credentialId !== undefined && { [credentialIdKey]: [credentialId] }), ...Object.fromEntries(extra) },
    }),
  };
}

export type Values = ReadonlyMap<string, Value>;

/** Evaluates an expression. The error is for the log: it contains no claim values. */
export function evaluate(what: string, expression: Expression, values: Values): Value {
  try {
    return expression.evaluate(values);
  } catch (cause) {
    throw new TokenRejectedError(`the expression of ${what} has no value`, { cause });
  }
}

export const toClaimValues = (claims: Claims): Values => {
  try {
    return new Map([['claims', fromJson(claims)]]);
  } catch (cause) {
    throw new TokenRejectedError('the claims cannot be looked at', { cause });
  }
};

function readStringClaim(what: string, mapping: ClaimMapping, claims: Claims, values: Values): string {
  if (mapping.from === 'expression') return keepText(requireString(what, evaluate(what, mapping.expression, values)));
  const { claim, prefix } = mapping;
  const found = requireString(what, getOwn(claims, claim));
  // An unverified email address can be claimed by anyone.
  const verified = getOwn(claims, 'email_verified');
  if (what === 'username' && claim === 'email' && verified !== undefined && verified !== true)
    throw new TokenRejectedError('the email is not verified');
  return found === '' ? '' : prefix + found;
}

function readGroups(mapping: ClaimMapping, claims: Claims, values: Values): readonly string[] {
  if (mapping.from === 'expression') return toStrings('groups', evaluate('groups', mapping.expression, values));
  const found = getOwn(claims, mapping.claim);
  return toStrings('groups', found ?? null).map((group) => mapping.prefix + group);
}

function requireString(what: string, value: unknown): string {
  if (typeof value !== 'string') throw new TokenRejectedError(`the ${what} is no text`);
  return value;
}

/** Accepts a string or a list of strings, which an expression may have cut out of long claims; drops empty ones and null. */
function toStrings(what: string, value: unknown): readonly string[] {
  if (value === null || value === '') return [];
  if (typeof value === 'string') return [keepText(value)];
  if (!Array.isArray(value)) throw new TokenRejectedError(`the ${what} are neither a text nor a list of texts`);
  return value.map((entry) => keepText(requireString(what, entry))).filter((entry) => entry !== '');
}
