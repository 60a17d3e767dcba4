import { subdomainNames } from '@cluster-apiserver/model/validation';
import type { Findings } from './findings.ts';
import { declareKind, loadConfiguration } from './load.ts';
import { anything, boolean, list, object, string } from './schema.ts';
import type { ConfigNode, ConfigNodeFields } from './config-node.ts';

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

const stringList = (description: string) => list(description, string(''));
const stageList = (description: string) => list(description, string('', { enum: auditStages }));

const resourcesSchema = list(
  'Resources that the rule applies to. Without any, all resources.',
  object('Resources of a group.', {
    group: string('API group; the empty string is the core group.'),
    resources: stringList(
      'Resources by their plural name, or with a subresource, such as serviceaccounts/token. `*` matches all resources, `*/status` a subresource of all. Without any, all of the group.',
    ),
    resourceNames: stringList('Names of the objects. Without any, all. Requires resources.'),
  }),
);

const ruleSchema = object(
  'One rule. The first rule that matches a request decides. An empty condition matches every request.',
  {
    level: string('How much is recorded.', { enum: auditLevels }),
    users: stringList('Names of users.'),
    userGroups: stringList('Groups of users; one of them is enough.'),
    verbs: stringList('Verbs of requests.'),
    resources: resourcesSchema,
    namespaces: stringList('Namespaces; the empty string is for resources outside of any.'),
    nonResourceURLs: stringList('URL paths; a final `*` matches any rest. Excludes resources and namespaces.'),
    omitStages: stageList('Stages for which no event is recorded, in addition to those of the policy.'),
    omitManagedFields: boolean('Whether managedFields are left out of objects; takes precedence over the policy.'),
  },
  { required: ['level'] },
);

const fields = {
  metadata: anything('Ignored.'),
  rules: list('Rules in their order, at least one. A request that none matches is not recorded.', ruleSchema, {
    minItems: 1,
    maxItems: rulesMax,
  }),
  omitStages: stageList('Stages for which no event is recorded.'),
  omitManagedFields: boolean('Whether managedFields are left out of objects.', { default: false }),
};

export const auditPolicyKind = declareKind({
  kind: 'Policy',
  groups: ['audit.k8s.io'],
  versions: ['v1'],
  description: 'Says which requests are recorded in the audit log, and how much of them.',
  fields,
});

/** Throws a ConfigurationError with all problems. */
export const loadAuditPolicy = (text: string, findings?: Findings): AuditPolicy =>
  loadConfiguration(auditPolicyKind, readPolicy, text, findings);

function readPolicy({ rules, omitStages, omitManagedFields }: ConfigNodeFields<typeof fields>): AuditPolicy {
  const ofPolicy = { omitStages: readStages(omitStages), omitManagedFields: omitManagedFields.boolean() ?? false };
  const items = rules.items();
  if (items.length === 0) rules.addRequired('a policy without rules would record nothing');
  if (items.length > rulesMax) rules.addProblem(`Too many: ${items.length}: must have at most ${rulesMax} items`);
  return { rules: items.slice(0, rulesMax).map((rule) => readRule(rule, ofPolicy)) };
}

function readRule(
  node: ConfigNode<typeof ruleSchema>,
  ofPolicy: Pick<AuditRule, 'omitStages' | 'omitManagedFields'>,
): AuditRule {
  const declared = node.fields();
  const resources = readResources(declared.resources);
  const namespaces = readSet(declared.namespaces);
  const nonResourceURLs = readUrls(declared.nonResourceURLs);
  if (nonResourceURLs && (resources || namespaces))
    declared.nonResourceURLs.addInvalid(
      nonResourceURLs,
      'rules cannot apply to both regular resources and non-resource URLs',
    );
  return {
    level: readLevel(declared.level),
    users: readSet(declared.users),
    userGroups: readSet(declared.userGroups),
    verbs: readSet(declared.verbs),
    namespaces,
    resources,
    nonResourceURLs,
    omitStages: ofPolicy.omitStages.union(readStages(declared.omitStages)),
    omitManagedFields: declared.omitManagedFields.boolean() ?? ofPolicy.omitManagedFields,
  };
}

function readLevel(node: ConfigNode): AuditLevel {
  const text = node.string();
  const level = auditLevels.find((one) => one === text);
  if (node.isAbsent || text === '') node.addRequired();
  else if (text !== undefined && !level)
    node.addProblem(`Unsupported value: ${JSON.stringify(text)}: supported values: ${quoteAll(auditLevels)}`);
  return level ?? 'None';
}

type StringListNode = ConfigNode<ReturnType<typeof stringList>>;

function readStages(node: StringListNode): ReadonlySet<AuditStage> {
  const stages = new Set<AuditStage>();
  for (const item of node.items()) {
    const text = item.string();
    const stage = auditStages.find((one) => one === text);
    if (stage) stages.add(stage);
    else if (text !== undefined || item.isAbsent)
      item.addInvalid(text ?? '', `allowed stages are ${auditStages.join(',')}`);
  }
  return stages;
}

/** Undefined for an empty list: it sets no condition. */
function readStrings(node: StringListNode): readonly string[] | undefined {
  const texts = node.items().map((item) => {
    if (item.isAbsent) item.addProblem('expected a string, got null');
    return item.string() ?? '';
  });
  return texts.length > 0 ? texts : undefined;
}

function readSet(node: StringListNode): ReadonlySet<string> | undefined {
  const texts = readStrings(node);
  return texts && new Set(texts);
}

function readUrls(node: StringListNode): readonly string[] | undefined {
  const urls = node.items().map((item) => {
    const url = item.string() ?? '';
    if (url === '*') return url;
    if (!url.startsWith('/')) item.addInvalid(url, "non-resource URL rules must begin with a '/' character");
    if (url.slice(0, -1).includes('*'))
      item.addInvalid(url, "non-resource URL wildcards '*' must be the final character of the rule");
    return url;
  });
  return urls.length > 0 ? urls : undefined;
}

function readResources(node: ConfigNode<typeof resourcesSchema>): readonly AuditedResources[] | undefined {
  const items = node.items();
  return items.length > 0 ? items.map(readResourcesOfGroup) : undefined;
}

function readResourcesOfGroup(node: ConfigNode<(typeof resourcesSchema)['items']>): AuditedResources {
  const declared = node.fields();
  const group = declared.group.string() ?? '';
  if (group !== '') for (const problem of subdomainNames.whole(group)) declared.group.addInvalid(group, problem);
  const resources = readStrings(declared.resources);
  const resourceNames = readSet(declared.resourceNames);
  if (resourceNames && !resources)
    declared.resourceNames.addInvalid([...resourceNames], 'using resourceNames requires at least one resource');
  return { group, resources, resourceNames };
}

const quoteAll = (values: readonly string[]): string => values.map((value) => JSON.stringify(value)).join(', ');
