import { getOwn } from '@cluster-apiserver/base';
import { type Expression, fromJson, type Value } from '@cluster-apiserver/expressions';
import type { UserInfo } from '@cluster-apiserver/model';
import { TokenRejectedError } from '../token-rejected.ts';
import type { Claims } from './verified-claims.ts';

/** Which claims, or what is made of them, tell who somebody is. */
export interface ClaimMappings {
  readonly username: ClaimMapping;
  readonly groups: ClaimMapping | undefined;
  readonly uid: ClaimMapping | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: Expression }[];
}

export type ClaimMapping =
  | { readonly from: 'claim'; readonly claim: string; readonly prefix: string }
  | { readonly from: 'expression'; readonly expression: Expression };

/** Who the claims say it is. `values` are the same claims for expressions. */
export function userFrom(mappings: ClaimMappings, claims: Claims, values: Values): UserInfo {
  const name = textFrom('username', mappings.username, claims, values);
  if (name === '') throw new TokenRejectedError('the username is empty');
  const uid = mappings.uid ? textFrom('uid', mappings.uid, claims, values) : '';
  const extra = mappings.extra
    .map(({ key, expression }) => [key, texts(`extra ${key}`, evaluated(`extra ${key}`, expression, values))] as const)
    .filter(([, held]) => held.length > 0);
  return {
    name,
    ...(uid !== '' && { uid }),
    groups: mappings.groups ? groupsFrom(mappings.groups, claims, values) : [],
    ...(extra.length > 0 && { extra: Object.fromEntries(extra) }),
  };
}

export type Values = ReadonlyMap<string, Value>;

/** What an expression comes to. Why it comes to nothing is for the log: it names no claim's value. */
export function evaluated(what: string, expression: Expression, values: Values): Value {
  try {
    return expression.evaluate(values);
  } catch (cause) {
    throw new TokenRejectedError(`the expression of ${what} has no value`, { cause });
  }
}

export const claimValues = (claims: Claims): Values => {
  try {
    return new Map([['claims', fromJson(claims)]]);
  } catch (cause) {
    throw new TokenRejectedError('the claims cannot be looked at', { cause });
  }
};

function textFrom(what: string, mapping: ClaimMapping, claims: Claims, values: Values): string {
  if (mapping.from === 'expression') return text(what, evaluated(what, mapping.expression, values));
  const { claim, prefix } = mapping;
  const found = text(what, getOwn(claims, claim));
  // An address that the issuer has not verified can be anybody's.
  const verified = getOwn(claims, 'email_verified');
  if (what === 'username' && claim === 'email' && verified !== undefined && verified !== true)
    throw new TokenRejectedError('the email is not verified');
  return found === '' ? '' : prefix + found;
}

function groupsFrom(mapping: ClaimMapping, claims: Claims, values: Values): readonly string[] {
  if (mapping.from === 'expression') return texts('groups', evaluated('groups', mapping.expression, values));
  const found = getOwn(claims, mapping.claim);
  return texts('groups', found ?? null).map((group) => mapping.prefix + group);
}

function text(what: string, value: unknown): string {
  if (typeof value !== 'string') throw new TokenRejectedError(`the ${what} is no text`);
  return value;
}

/** One or several; empty ones and null say nothing. */
function texts(what: string, value: unknown): readonly string[] {
  if (value === null || value === '') return [];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value)) throw new TokenRejectedError(`the ${what} are neither a text nor a list of texts`);
  return value.map((entry) => text(what, entry)).filter((entry) => entry !== '');
}
