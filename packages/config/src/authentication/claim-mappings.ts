import type { Expression } from '@cluster-apiserver/expressions';
import { subdomainNames } from '@cluster-apiserver/model';
import { claimText, claimTexts } from './expression.ts';
import { list, object, string } from '../schema.ts';
import type { Written } from '../written.ts';

/** Which claims, or what made of them, tell who somebody is. */
export interface ClaimMappings {
  readonly username: ClaimMapping;
  readonly groups: ClaimMapping | undefined;
  readonly uid: ClaimMapping | undefined;
  readonly extra: readonly { readonly key: string; readonly expression: Expression }[];
}

export type ClaimMapping =
  | { readonly from: 'claim'; readonly claim: string; readonly prefix: string }
  | { readonly from: 'expression'; readonly expression: Expression };

const prefixed = (description: string, expression: string) =>
  object(description, {
    claim: string('Name of the claim. Excludes `expression`.'),
    prefix: string('Prefix of the value of the claim; required with `claim`, and empty for none.'),
    expression: string(expression),
  });

export const claimMappingsSchema = object(
  'How the claims of a token become a user.',
  {
    username: prefixed('Name of the user.', 'CEL expression over `claims` that gives a string.'),
    groups: prefixed('Groups of the user.', 'CEL expression over `claims` that gives a string or a list of strings.'),
    uid: object('UID of the user.', {
      claim: string('Name of the claim. Excludes `expression`.'),
      expression: string('CEL expression over `claims` that gives a string.'),
    }),
    extra: list(
      'Extra attributes of the user.',
      object(
        'One attribute.',
        {
          key: string(
            'Key of the attribute: a lowercase path that begins with a domain, such as `example.com/tenant`.',
          ),
          valueExpression: string('CEL expression over `claims` that gives a string or a list of strings.'),
        },
        { required: ['key', 'valueExpression'] },
      ),
    ),
  },
  { required: ['username'] },
);

export function readClaimMappings(
  written: Written<typeof claimMappingsSchema>,
  rules: readonly Expression[],
): ClaimMappings {
  const fields = written.fields();
  const username = readPrefixed(fields.username, claimText, true);
  const extra = readExtra(fields.extra);
  checkEmail(fields.username, username, [...rules, ...extra.map(({ expression }) => expression)]);
  return {
    // A file with a fault is refused as a whole, so what stands in for a name that is not there is never used.
    username: username ?? { from: 'claim', claim: '', prefix: '' },
    groups: readPrefixed(fields.groups, claimTexts, false),
    uid: readUid(fields.uid),
    extra,
  };
}

function readPrefixed(
  written: Written<ReturnType<typeof prefixed>>,
  read: (written: Written) => Expression | undefined,
  needed: boolean,
): ClaimMapping | undefined {
  const fields = written.fields();
  const [claim, prefix, text] = [fields.claim.text() ?? '', fields.prefix.text(), fields.expression.text() ?? ''];
  if (claim !== '' && text !== '') {
    written.invalid('', "claim and expression can't both be set");
    return undefined;
  }
  if (claim === '' && text === '') {
    if (needed) written.required('claim or expression is required');
    else if (prefix !== undefined) fields.prefix.invalid(prefix, 'prefix can only be set when claim is set');
    return undefined;
  }
  if (text !== '') {
    if (prefix !== undefined) fields.prefix.invalid(prefix, "prefix can't be set when expression is set");
    const expression = read(fields.expression);
    return expression && { from: 'expression', expression };
  }
  if (prefix === undefined)
    fields.prefix.required(
      'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    );
  return { from: 'claim', claim, prefix: prefix ?? '' };
}

type Declared = (typeof claimMappingsSchema)['properties'];

function readUid(written: Written<Declared['uid']>): ClaimMapping | undefined {
  const fields = written.fields();
  const [claim, text] = [fields.claim.text() ?? '', fields.expression.text() ?? ''];
  if (claim !== '' && text !== '') written.invalid('', "claim and expression can't both be set");
  if (claim !== '') return { from: 'claim', claim, prefix: '' };
  const expression = claimText(fields.expression);
  return expression && { from: 'expression', expression };
}

/** An address that nobody has verified is a name that anybody can take. */
function checkEmail(
  written: Written<Declared['username']>,
  username: ClaimMapping | undefined,
  others: readonly Expression[],
): void {
  if (username?.from !== 'expression' || !username.expression.readsField('claims', 'email')) return;
  if ([username.expression, ...others].some((expression) => expression.readsField('claims', 'email_verified'))) return;
  written
    .fields()
    .expression.invalid(
      username.expression.text,
      'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
    );
}

function readExtra(written: Written<Declared['extra']>): ClaimMappings['extra'] {
  const taken = new Set<string>();
  return written.items().flatMap((item) => {
    const fields = item.fields();
    const key = readKey(fields.key, taken);
    if ((fields.valueExpression.text() ?? '') === '') fields.valueExpression.required();
    const expression = claimTexts(fields.valueExpression);
    return expression ? [{ key, expression }] : [];
  });
}

/** Domains under which the meaning of a key is not an operator's to choose. */
const reservedDomains = ['k8s.io', 'kubernetes.io', 'platform.io'];

function readKey(written: Written, taken: Set<string>): string {
  const key = written.text() ?? '';
  if (key === '') {
    written.required();
    return key;
  }
  const [domain = '', ...path] = key.split('/');
  if (path.length === 0 || domain === '' || path.join('/') === '')
    written.invalid(key, 'must be a domain-prefixed path (such as "acme.io/foo")');
  else {
    for (const problem of subdomainNames.whole(domain)) written.invalid(domain, problem);
    if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:@]+$/.test(path.join('/')))
      written.invalid(key, 'what follows the first slash must be valid characters of a path, as RFC 3986 has them');
  }
  if (key !== key.toLowerCase()) written.invalid(key, 'must be lowercase');
  if (reservedDomains.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`)))
    written.invalid(key, `${reservedDomains.join(', ')} and their subdomains are reserved`);
  if (taken.has(key)) written.wrong(`Duplicate value: ${JSON.stringify(key)}`);
  taken.add(key);
  return key;
}
