import {
  duplicate,
  type FieldErrors,
  field,
  invalidValue,
  list,
  notSupported,
  object,
  pathSegment,
  publicationOf,
  required,
  string,
  type ValueOf,
} from '@cluster-apiserver/model';
import { admissionRegistration } from './admission-registration.ts';

const ruleSchema = object(
  {
    apiGroups: field(
      1,
      list(string, 'atomic'),
      'API groups of the resources. The empty string is the core group; * matches all groups and stands alone.',
    ),
    apiVersions: field(
      2,
      list(string, 'atomic'),
      'API versions of the resources. * matches all versions and stands alone.',
    ),
    resources: field(
      3,
      list(string, 'atomic'),
      'Resources by their plural name, such as events, or with a subresource, such as serviceaccounts/token. * matches all resources, */* all subresources too.',
    ),
    scope: field(4, string, 'Cluster, Namespaced or * for both. Defaults to *.', 'given'),
  },
  {},
);

const operationsField = field(
  1,
  list(string, 'atomic'),
  'CREATE, UPDATE, DELETE, CONNECT or * for all of them, which stands alone.',
);

const publishedRule = (kind: string, description: string) =>
  publicationOf({ ...admissionRegistration, kind }, description);

export const ruleWithOperations = object(
  { operations: operationsField },
  {
    embedded: { schema: ruleSchema, number: 2 },
    publication: publishedRule('RuleWithOperations', 'Operations on resources. All of its members must match.'),
  },
);

/** Operations on resources that a webhook or policy applies to. */
export type RuleWithOperations = ValueOf<typeof ruleWithOperations>;

export const namedRuleWithOperations = object(
  {
    resourceNames: field(
      1,
      list(string, 'atomic'),
      'Names of the objects that the rule is limited to. Empty means all.',
    ),
  },
  {
    atomic: true,
    embedded: { schema: ruleWithOperations, number: 2 },
    publication: publishedRule(
      'NamedRuleWithOperations',
      'Operations on resources, or on some objects by their names. All of its members must match.',
    ),
  },
);

export type NamedRuleWithOperations = ValueOf<typeof namedRuleWithOperations>;

/** Fills in defaults. */
export const withScopes = <T extends RuleWithOperations>(rules: readonly T[]): T[] =>
  rules.map((rule) => ({ ...rule, scope: rule.scope ?? '*' }));

export function addRuleErrors(
  errors: FieldErrors,
  at: string,
  { operations = [], apiGroups = [], apiVersions = [], resources = [], scope }: RuleWithOperations,
): void {
  addOperationErrors(errors, `${at}.operations`, operations);
  addWordErrors(errors, `${at}.apiGroups`, apiGroups, 'API groups');
  addWordErrors(errors, `${at}.apiVersions`, apiVersions, 'API versions');
  for (const [index, version] of apiVersions.entries())
    if (version === '') errors.add(() => required(`${at}.apiVersions[${index}]`));
  addResourceErrors(errors, `${at}.resources`, resources);
  if (scope !== undefined && !scopes.includes(scope)) errors.add(() => notSupported(`${at}.scope`, scope, scopes));
}

export function addNamedRuleErrors(errors: FieldErrors, at: string, rule: NamedRuleWithOperations): void {
  const seen = new Set<string>();
  for (const [index, name] of (rule.resourceNames ?? []).entries()) {
    const where = `${at}.resourceNames[${index}]`;
    for (const problem of pathSegment(name)) errors.add(() => invalidValue(where, name, problem));
    if (seen.has(name)) errors.add(() => duplicate(where, name));
    seen.add(name);
  }
  addRuleErrors(errors, at, rule);
}

const scopes = ['*', 'Cluster', 'Namespaced'];
const operationNames = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];

function addOperationErrors(errors: FieldErrors, at: string, operations: readonly string[]): void {
  addWordErrors(errors, at, operations, 'operations');
  for (const [index, operation] of operations.entries())
    if (!operationNames.includes(operation))
      errors.add(() => notSupported(`${at}[${index}]`, operation, operationNames));
}

/** At least one word, and * alone. */
function addWordErrors(errors: FieldErrors, at: string, words: readonly string[], what: string): void {
  if (words.length === 0) errors.add(() => required(at));
  else if (words.length > 1 && words.includes('*'))
    errors.add(() => invalidValue(at, words, `if '*' is present, must not specify other ${what}`));
}

/** An entry must not be covered by an earlier one, because then it would have no effect. */
function addResourceErrors(errors: FieldErrors, at: string, resources: readonly string[]): void {
  if (resources.length === 0) errors.add(() => required(at));
  const withAllSubresources = new Set<string>();
  const ofAllResources = new Set<string>();
  let lastWhole: string | undefined;
  for (const [index, entry] of resources.entries()) {
    const where = `${at}[${index}]`;
    if (entry === '') {
      errors.add(() => required(where));
      continue;
    }
    const slash = entry.indexOf('/');
    if (slash < 0) {
      lastWhole = entry;
      continue;
    }
    const [resource, subresource] = [entry.slice(0, slash), entry.slice(slash + 1)];
    const refuse = (by: string): void =>
      errors.add(() => invalidValue(where, entry, `if '${by}' is present, must not specify ${entry}`));
    if (withAllSubresources.has(resource)) refuse(`${resource}/*`);
    if (ofAllResources.has(subresource)) refuse(`*/${subresource}`);
    if (subresource === '*') withAllSubresources.add(resource);
    if (resource === '*') ofAllResources.add(subresource);
  }
  if (resources.length > 1 && resources.includes('*/*'))
    errors.add(() => invalidValue(at, resources, "if '*/*' is present, must not specify other resources"));
  // Like kube-apiserver, which looks at the last of them only.
  if (resources.includes('*') && lastWhole !== '*')
    errors.add(() =>
      invalidValue(at, resources, "if '*' is present, must not specify other resources without subresources"),
    );
}
