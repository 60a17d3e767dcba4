import type { Expression } from '@cluster-apiserver/expressions';
import type { Problems } from '@cluster-apiserver/model';
import { object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { validateDomainPrefixedPath } from '@cluster-apiserver/model/validation';
import { compileClaimString, compileClaimStrings } from './expression.ts';
import { requireUnique } from './issuer.ts';
import { checkedString, list, optional, required } from '../schema.ts';

/** How the claims of a token map to the attributes of a user. */
export interface ClaimMappings {
  readonly username: ClaimMapping;
  readonly groups: ClaimMapping | undefined;
  readonly uid: ClaimMapping | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: Expression }[];
}

export type ClaimMapping =
  | { readonly from: 'claim'; readonly claim: string; readonly prefix: string }
  | { readonly from: 'expression'; readonly expression: Expression };

/** Domains whose keys Kubernetes and this server define. */
const reservedDomains = ['k8s.io', 'kubernetes.io', 'platform.io'];

const extraKey = checkedString((key, at) => {
  const [domain = ''] = key.split('/', 1);
  validateDomainPrefixedPath(key, at);
  if (key !== key.toLowerCase()) at.invalid(key, 'must be lowercase');
  if (reservedDomains.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`)))
    at.invalid(key, `${reservedDomains.join(', ')} and their subdomains are reserved`);
});

const prefixedMapping = (expression: string) =>
  object({
    claim: optional(string, 'Name of the claim. Excludes `expression`.'),
    prefix: optional(string, 'Prefix of the value of the claim; required with `claim`, and empty for none.'),
    expression: optional(string, expression),
  });

export const claimMappingsSchema = object({
  username: required(
    prefixedMapping('CEL expression over `claims` that gives a string.'),
    'Name of the user.',
    'Required value: claim or expression is required',
  ),
  groups: optional(
    prefixedMapping('CEL expression over `claims` that gives a string or a list of strings.'),
    'Groups of the user.',
  ),
  uid: optional(
    object({
      claim: optional(string, 'Name of the claim. Excludes `expression`.'),
      expression: optional(string, 'CEL expression over `claims` that gives a string.'),
    }),
    'UID of the user.',
  ),
  extra: optional(
    list(
      object({
        key: required(
          extraKey,
          'Key of the attribute: a lowercase path that begins with a domain, such as `example.com/tenant`.',
        ),
        valueExpression: required(string, 'CEL expression over `claims` that gives a string or a list of strings.'),
      }),
    ),
    'Extra attributes of the user.',
  ),
});

export function readClaimMappings(
  { username, groups, uid, extra: declared = [] }: ValueOf<typeof claimMappingsSchema>,
  at: Problems,
  rules: readonly Expression[],
): ClaimMappings {
  const place = at.at('username');
  const name = readPrefixed(username, place, compileClaimString);
  if (!username.claim && !username.expression) place.required('claim or expression is required');
  const keys = new Set<string>();
  const extra = declared.flatMap(({ key, valueExpression }, index) => {
    requireUnique(key, at.at('extra', index, 'key'), keys);
    const expression = compileClaimStrings(valueExpression, at.at('extra', index, 'valueExpression'));
    return expression ? [{ key, expression }] : [];
  });
  checkEmail(name, place.at('expression'), [...rules, ...extra.map(({ expression }) => expression)]);
  return {
    username: name ?? { from: 'claim', claim: '', prefix: '' }, // a problem
    groups: groups && readPrefixed(groups, at.at('groups'), compileClaimStrings),
    uid: uid && readMapping(uid, at.at('uid'), compileClaimString),
    extra,
  };
}

/** Undefined if nothing is set, and for an expression with problems. */
function readMapping(
  { claim = '', prefix = '', expression: source = '' }: Partial<Record<'claim' | 'prefix' | 'expression', string>>,
  at: Problems,
  compile: typeof compileClaimString,
): ClaimMapping | undefined {
  if (claim !== '' && source !== '') at.invalid('', "claim and expression can't both be set");
  if (claim !== '') return { from: 'claim', claim, prefix };
  const expression = compile(source, at.at('expression'));
  return expression && { from: 'expression', expression };
}

function readPrefixed(
  mapping: ValueOf<ReturnType<typeof prefixedMapping>>,
  at: Problems,
  compile: typeof compileClaimString,
): ClaimMapping | undefined {
  const { claim, prefix, expression } = mapping;
  const place = at.at('prefix');
  if (claim && prefix === undefined && !expression)
    place.required('prefix is required when claim is set. It can be set to an empty string to disable prefixing');
  if (!claim && prefix !== undefined)
    place.invalid(
      prefix,
      expression ? "prefix can't be set when expression is set" : 'prefix can only be set when claim is set',
    );
  return readMapping(mapping, at, compile);
}

/** An unverified email address can be claimed by anyone, so it must not become a user name unchecked. */
function checkEmail(username: ClaimMapping | undefined, at: Problems, others: readonly Expression[]): void {
  if (username?.from !== 'expression' || !username.expression.readsField('claims', 'email')) return;
  if ([username.expression, ...others].some((expression) => expression.readsField('claims', 'email_verified'))) return;
  at.invalid(
    username.expression.text,
    'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
  );
}
