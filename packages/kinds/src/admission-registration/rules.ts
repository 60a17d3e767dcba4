import type { Problems } from '@cluster-apiserver/model';
import { field, list, object, publicationOf, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { pathSegment } from '@cluster-apiserver/model/validation';
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

export function validateRule(
  { operations = [], apiGroups = [], apiVersions = [], resources = [], scope }: RuleWithOperations,
  problems: Problems,
): void {
  validateOperations(operations, problems.at('operations'));
  validateWords(apiGroups, 'API groups', problems.at('apiGroups'));
  const ofVersions = problems.at('apiVersions');
  validateWords(apiVersions, 'API versions', ofVersions);
  for (const [index, version] of apiVersions.entries()) if (version === '') ofVersions.at(index).required();
  validateResources(resources, problems.at('resources'));
  problems.at('scope').oneOf(scope, scopes);
}

export function validateNamedRule(rule: NamedRuleWithOperations, problems: Problems): void {
  const seen = new Set<string>();
  problems.at('resourceNames').each(rule.resourceNames ?? [], (name, at) => {
    at.check(pathSegment, name);
    if (seen.has(name)) at.duplicate(name);
    seen.add(name);
  });
  validateRule(rule, problems);
}

const scopes = ['*', 'Cluster', 'Namespaced'];
const operationNames = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];

function validateOperations(operations: readonly string[], problems: Problems): void {
  validateWords(operations, 'operations', problems);
  problems.each(operations, (operation, at) => at.oneOf(operation, operationNames));
}

/** At least one word, and * alone. */
function validateWords(words: readonly string[], what: string, problems: Problems): void {
  if (words.length === 0) problems.required();
  else if (words.length > 1 && words.includes('*'))
    problems.invalid(words, `if '*' is present, must not specify other ${what}`);
}

/** An entry must not be covered by an earlier one, because then it would have no effect. */
function validateResources(resources: readonly string[], problems: Problems): void {
  if (resources.length === 0) problems.required();
  const withAllSubresources = new Set<string>();
  const ofAllResources = new Set<string>();
  let lastWhole: string | undefined;
  for (const [index, entry] of resources.entries()) {
    if (entry === '') {
      problems.at(index).required();
      continue;
    }
    const slash = entry.indexOf('/');
    if (slash < 0) {
      lastWhole = entry;
      continue;
    }
    const [resource, subresource] = [entry.slice(0, slash), entry.slice(slash + 1)];
    const refuse = (by: string): Problems =>
      problems.at(index).invalid(entry, `if '${by}' is present, must not specify ${entry}`);
    if (withAllSubresources.has(resource)) refuse(`${resource}/*`);
    if (ofAllResources.has(subresource)) refuse(`*/${subresource}`);
    if (subresource === '*') withAllSubresources.add(resource);
    if (resource === '*') ofAllResources.add(subresource);
  }
  if (resources.length > 1 && resources.includes('*/*'))
    problems.invalid(resources, "if '*/*' is present, must not specify other resources");
  // Like kube-apiserver, which looks at the last of them only.
  if (resources.includes('*') && lastWhole !== '*')
    problems.invalid(resources, "if '*' is present, must not specify other resources without subresources");
}
