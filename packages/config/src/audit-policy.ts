import type { Problems } from '@cluster-apiserver/model';
import { any, boolean, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { subdomainNames } from '@cluster-apiserver/model/validation';
import { Findings } from './findings.ts';
import { defineConfigurationKind, loadConfiguration } from './load.ts';
import { checkedString, list, oneOf, optional, required, withDefault } from './schema.ts';

/** In ascending order of detail. */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];

export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof auditStages)[number];

/** Which requests are recorded, and in how much detail. The first matching rule decides; without one nothing is recorded. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
}

/** An undefined condition matches every request. */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: ReadonlySet<string> | undefined;
  readonly userGroups: ReadonlySet<string> | undefined;
  readonly verbs: ReadonlySet<string> | undefined;
  readonly namespaces: ReadonlySet<string> | undefined;
  readonly resources: readonly AuditedResources[] | undefined;
  readonly nonResourceURLs: readonly string[] | undefined;
  /** Those of the policy and of the rule. */
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

export interface AuditedResources {
  readonly group: string;
  /** Undefined for all resources of the group. */
  readonly resources: readonly string[] | undefined;
  readonly resourceNames: ReadonlySet<string> | undefined;
}

/** Rules are evaluated one by one for each request. */
const rulesMax = 1_000;

const strings = list(string);
const stages = list(oneOf(auditStages));
const groupName = checkedString((value, at) => {
  if (value !== '') at.check(subdomainNames.whole, value);
});
const urlPattern = checkedString((value, at) => {
  if (value === '*') return;
  if (!value.startsWith('/')) at.invalid(value, "non-resource URL rules must begin with a '/' character");
  if (value.slice(0, -1).includes('*'))
    at.invalid(value, "non-resource URL wildcards '*' must be the final character of the rule");
});

const resourcesOfGroup = object({
  group: withDefault(groupName, 'API group; the empty string is the core group.', ''),
  resources: optional(
    strings,
    'Resources by their plural name, or with a subresource, such as serviceaccounts/token. `*` matches all resources, `*/status` a subresource of all. Without any, all of the group.',
  ),
  resourceNames: optional(strings, 'Names of the objects. Without any, all. Requires resources.'),
});

/** The first rule that matches a request decides. An empty condition matches every request. */
const ruleSchema = object({
  level: required(oneOf(auditLevels), 'Level of detail of the events.'),
  users: optional(strings, 'Names of users.'),
  userGroups: optional(strings, 'Groups of users; one of them is enough.'),
  verbs: optional(strings, 'Verbs of requests.'),
  resources: optional(list(resourcesOfGroup), 'Resources that the rule applies to. Without any, all resources.'),
  namespaces: optional(strings, 'Namespaces; the empty string is for resources outside of any.'),
  nonResourceURLs: optional(
    list(urlPattern),
    'URL paths; a final `*` matches any rest. Excludes resources and namespaces.',
  ),
  omitStages: optional(stages, 'Stages for which no event is recorded, in addition to those of the policy.'),
  omitManagedFields: optional(
    boolean,
    'Whether managedFields are left out of objects; takes precedence over the policy.',
  ),
});

export const auditPolicyKind = defineConfigurationKind({
  kind: 'Policy',
  groups: ['audit.k8s.io'],
  versions: ['v1'],
  description: 'Says which requests are recorded in the audit log, and how much of them.',
  fields: {
    metadata: optional(any, 'Ignored.'),
    rules: required(
      list(ruleSchema, rulesMax),
      'Rules in their order, at least one. A request that none matches is not recorded.',
      'Required value: a policy without rules would record nothing',
    ),
    omitStages: optional(stages, 'Stages for which no event is recorded.'),
    omitManagedFields: withDefault(boolean, 'Whether managedFields are left out of objects.', false),
  },
});

/** Throws a ConfigurationError with all problems. */
export const loadAuditPolicy = (file: string, findings = new Findings(file)): AuditPolicy =>
  loadConfiguration(
    auditPolicyKind,
    ({ rules, omitStages = [], omitManagedFields }, at) => ({
      rules: rules.map((rule, index) => readRule(rule, at.at('rules', index), { omitStages, omitManagedFields })),
    }),
    file,
    findings,
  );

function readRule(
  rule: ValueOf<typeof ruleSchema>,
  at: Problems,
  policy: { readonly omitStages: readonly AuditStage[]; readonly omitManagedFields: boolean },
): AuditRule {
  const resources = toCondition(rule.resources)?.map((one, index) => readResources(one, at.at('resources', index)));
  const namespaces = toSet(rule.namespaces);
  const nonResourceURLs = toCondition(rule.nonResourceURLs);
  if (nonResourceURLs && (resources || namespaces))
    at.at('nonResourceURLs').invalid(
      nonResourceURLs,
      'rules cannot apply to both regular resources and non-resource URLs',
    );
  return {
    level: rule.level,
    users: toSet(rule.users),
    userGroups: toSet(rule.userGroups),
    verbs: toSet(rule.verbs),
    namespaces,
    resources,
    nonResourceURLs,
    omitStages: new Set([...policy.omitStages, ...(rule.omitStages ?? [])]),
    omitManagedFields: rule.omitManagedFields ?? policy.omitManagedFields,
  };
}

/** Undefined for an empty list: it sets no condition. */
const toCondition = <T>(values: readonly T[] | undefined): readonly T[] | undefined =>
  values && values.length > 0 ? values : undefined;

function toSet(texts: readonly string[] | undefined): ReadonlySet<string> | undefined {
  const condition = toCondition(texts);
  return condition && new Set(condition);
}

function readResources(
  { group, resources: declared, resourceNames }: ValueOf<typeof resourcesOfGroup>,
  at: Problems,
): AuditedResources {
  const resources = toCondition(declared);
  const names = toSet(resourceNames);
  if (names && !resources)
    at.at('resourceNames').invalid([...names], 'using resourceNames requires at least one resource');
  return { group, resources, resourceNames: names };
}
