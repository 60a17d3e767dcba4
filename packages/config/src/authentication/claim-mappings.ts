import type { Expression } from '@cluster-apiserver/expressions';
import { subdomainNames } from '@cluster-apiserver/model/validation';
import { compileClaimString, compileClaimStrings } from './expression.ts';
import { list, object, string } from '../schema.ts';
import type { ConfigNode } from '../config-node.ts';

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

const prefixedMapping = (description: string, expression: string) =>
  object(description, {
    claim: string('Name of the claim. Excludes `expression`.'),
    prefix: string('Prefix of the value of the claim; required with `claim`, and empty for none.'),
    expression: string(expression),
  });

export const claimMappingsSchema = object(
  'How the claims of a token become a user.',
  {
    username: prefixedMapping('Name of the user.', 'CEL expression over `claims` that gives a string.'),
    groups: prefixedMapping(
      'Groups of the user.',
      'CEL expression over `claims` that gives a string or a list of strings.',
    ),
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
  node: ConfigNode<typeof claimMappingsSchema>,
  rules: readonly Expression[],
): ClaimMappings {
  const fields = node.fields();
  const username = readPrefixed(fields.username, compileClaimString, true);
  const extra = readExtra(fields.extra);
  checkEmail(fields.username, username, [...rules, ...extra.map(({ expression }) => expression)]);
  return {
    // Never used: a file with problems is rejected as a whole.
    username: username ?? { from: 'claim', claim: '', prefix: '' },
    groups: readPrefixed(fields.groups, compileClaimStrings, false),
    uid: readUid(fields.uid),
    extra,
  };
}

function readPrefixed(
  node: ConfigNode<ReturnType<typeof prefixedMapping>>,
  read: (node: ConfigNode) => Expression | undefined,
  needed: boolean,
): ClaimMapping | undefined {
  const fields = node.fields();
  const [claim, prefix, text] = [fields.claim.string() ?? '', fields.prefix.string(), fields.expression.string() ?? ''];
  if (claim !== '' && text !== '') {
    node.addInvalid('', "claim and expression can't both be set");
    return undefined;
  }
  if (claim === '' && text === '') {
    if (needed) node.addRequired('claim or expression is required');
    else if (prefix !== undefined) fields.prefix.addInvalid(prefix, 'prefix can only be set when claim is set');
    return undefined;
  }
  if (text !== '') {
    if (prefix !== undefined) fields.prefix.addInvalid(prefix, "prefix can't be set when expression is set");
    const expression = read(fields.expression);
    return expression && { from: 'expression', expression };
  }
  if (prefix === undefined)
    fields.prefix.addRequired(
      'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
    );
  return { from: 'claim', claim, prefix: prefix ?? '' };
}

type Declared = (typeof claimMappingsSchema)['properties'];

function readUid(node: ConfigNode<Declared['uid']>): ClaimMapping | undefined {
  const fields = node.fields();
  const [claim, text] = [fields.claim.string() ?? '', fields.expression.string() ?? ''];
  if (claim !== '' && text !== '') node.addInvalid('', "claim and expression can't both be set");
  if (claim !== '') return { from: 'claim', claim, prefix: '' };
  const expression = compileClaimString(fields.expression);
  return expression && { from: 'expression', expression };
}

/** An unverified email address can be claimed by anyone, so it must not become a user name unchecked. */
function checkEmail(
  node: ConfigNode<Declared['username']>,
  username: ClaimMapping | undefined,
  others: readonly Expression[],
): void {
  if (username?.from !== 'expression' || !username.expression.readsField('claims', 'email')) return;
  if ([username.expression, ...others].some((expression) => expression.readsField('claims', 'email_verified'))) return;
  node
    .fields()
    .expression.addInvalid(
      username.expression.text,
      'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
    );
}

function readExtra(node: ConfigNode<Declared['extra']>): ClaimMappings['extra'] {
  const taken = new Set<string>();
  return node.items().flatMap((item) => {
    const fields = item.fields();
    const key = readKey(fields.key, taken);
    if ((fields.valueExpression.string() ?? '') === '') fields.valueExpression.addRequired();
    const expression = compileClaimStrings(fields.valueExpression);
    return expression ? [{ key, expression }] : [];
  });
}

/** Domains whose keys Kubernetes and this server define. */
const reservedDomains = ['k8s.io', 'kubernetes.io', 'platform.io'];

function readKey(node: ConfigNode, taken: Set<string>): string {
  const key = node.string() ?? '';
  if (key === '') {
    node.addRequired();
    return key;
  }
  const [domain = '', ...path] = key.split('/');
  if (path.length === 0 || domain === '' || path.join('/') === '')
    node.addInvalid(key, 'must be a domain-prefixed path (such as "acme.io/foo")');
  else {
    for (const problem of subdomainNames.whole(domain)) node.addInvalid(domain, problem);
    if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:@]+$/.test(path.join('/')))
      node.addInvalid(key, 'what follows the first slash must be valid characters of a path, as RFC 3986 has them');
  }
  if (key !== key.toLowerCase()) node.addInvalid(key, 'must be lowercase');
  if (reservedDomains.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`)))
    node.addInvalid(key, `${reservedDomains.join(', ')} and their subdomains are reserved`);
  if (taken.has(key)) node.addProblem(`Duplicate value: ${JSON.stringify(key)}`);
  taken.add(key);
  return key;
}
