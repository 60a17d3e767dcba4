import { subdomainNames } from '@cluster-apiserver/model';
import type { Findings } from './findings.ts';
import { declareKind, loadConfiguration } from './load.ts';
import { anything, boolean, list, object, string } from './schema.ts';
import type { Written, WrittenFields } from './written.ts';

/** From the level that records least to the one that records most. */
export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
export type AuditLevel = (typeof auditLevels)[number];

export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditStage = (typeof auditStages)[number];

/** What is recorded of which requests: the first rule that matches decides, and without one nothing is recorded. */
export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
}

/** A condition that is undefined holds for every request. */
export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: ReadonlySet<string> | undefined;
  readonly userGroups: ReadonlySet<string> | undefined;
  readonly verbs: ReadonlySet<string> | undefined;
  readonly namespaces: ReadonlySet<string> | undefined;
  readonly resources: readonly AuditedResources[] | undefined;
  readonly nonResourceURLs: readonly string[] | undefined;
  /** Of the policy and of the rule. */
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

export interface AuditedResources {
  readonly group: string;
  /** All of the group when undefined. */
  readonly resources: readonly string[] | undefined;
  readonly resourceNames: ReadonlySet<string> | undefined;
}

/** They are evaluated one after another for each request. */
const rulesMax = 1_000;

const texts = (description: string) => list(description, string(''));
const omitStages = (description: string) => list(description, string('', { enum: auditStages }));

const resourcesSchema = list(
  'Resources that the rule applies to. Without any, all resources.',
  object('Resources of a group.', {
    group: string('API group; the empty string is the core group.'),
    resources: texts(
      'Resources by their plural name, or with a subresource, such as serviceaccounts/token. `*` matches all resources, `*/status` a subresource of all. Without any, all of the group.',
    ),
    resourceNames: texts('Names of the objects. Without any, all. Requires resources.'),
  }),
);

const ruleSchema = object(
  'One rule. The first rule that matches a request decides. An empty condition matches every request.',
  {
    level: string('How much is recorded.', { enum: auditLevels }),
    users: texts('Names of users.'),
    userGroups: texts('Groups of users; one of them is enough.'),
    verbs: texts('Verbs of requests.'),
    resources: resourcesSchema,
    namespaces: texts('Namespaces; the empty string is for resources outside of any.'),
    nonResourceURLs: texts('URL paths; a final `*` matches any rest. Excludes resources and namespaces.'),
    omitStages: omitStages('Stages for which no event is recorded, in addition to those of the policy.'),
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
  omitStages: omitStages('Stages for which no event is recorded.'),
  omitManagedFields: boolean('Whether managedFields are left out of objects.', { default: false }),
};

export const auditPolicyKind = declareKind({
  kind: 'Policy',
  groups: ['audit.k8s.io'],
  versions: ['v1'],
  description: 'Says which requests are recorded in the audit log, and how much of them.',
  fields,
});

/** Throws a ConfigurationError with everything that is wrong. */
export const loadAuditPolicy = (text: string, findings?: Findings): AuditPolicy =>
  loadConfiguration(auditPolicyKind, readPolicy, text, findings);

function readPolicy({ rules, omitStages, omitManagedFields }: WrittenFields<typeof fields>): AuditPolicy {
  const ofPolicy = { omitStages: readStages(omitStages), omitManagedFields: omitManagedFields.fact() ?? false };
  const items = rules.items();
  if (items.length === 0) rules.required('a policy without rules would record nothing');
  if (items.length > rulesMax) rules.wrong(`Too many: ${items.length}: must have at most ${rulesMax} items`);
  return { rules: items.slice(0, rulesMax).map((rule) => readRule(rule, ofPolicy)) };
}

function readRule(
  written: Written<typeof ruleSchema>,
  ofPolicy: Pick<AuditRule, 'omitStages' | 'omitManagedFields'>,
): AuditRule {
  const fields = written.fields();
  const resources = readResources(fields.resources);
  const namespaces = readSet(fields.namespaces);
  const nonResourceURLs = readUrls(fields.nonResourceURLs);
  if (nonResourceURLs && (resources || namespaces))
    fields.nonResourceURLs.invalid(
      nonResourceURLs,
      'rules cannot apply to both regular resources and non-resource URLs',
    );
  return {
    level: readLevel(fields.level),
    users: readSet(fields.users),
    userGroups: readSet(fields.userGroups),
    verbs: readSet(fields.verbs),
    namespaces,
    resources,
    nonResourceURLs,
    omitStages: ofPolicy.omitStages.union(readStages(fields.omitStages)),
    omitManagedFields: fields.omitManagedFields.fact() ?? ofPolicy.omitManagedFields,
  };
}

function readLevel(written: Written): AuditLevel {
  const text = written.text();
  const level = auditLevels.find((one) => one === text);
  if (written.absent || text === '') written.required();
  else if (text !== undefined && !level)
    written.wrong(`Unsupported value: ${JSON.stringify(text)}: supported values: ${quoted(auditLevels)}`);
  return level ?? 'None';
}

type Texts = Written<ReturnType<typeof texts>>;

function readStages(written: Texts): ReadonlySet<AuditStage> {
  const stages = new Set<AuditStage>();
  for (const item of written.items()) {
    const text = item.text();
    const stage = auditStages.find((one) => one === text);
    if (stage) stages.add(stage);
    else if (text !== undefined || item.absent) item.invalid(text ?? '', `allowed stages are ${auditStages.join(',')}`);
  }
  return stages;
}

/** Undefined for an empty list, which is no condition. */
function readTexts(written: Texts): readonly string[] | undefined {
  const texts = written.items().map((item) => {
    if (item.absent) item.wrong('expected a string, got null');
    return item.text() ?? '';
  });
  return texts.length > 0 ? texts : undefined;
}

function readSet(written: Texts): ReadonlySet<string> | undefined {
  const texts = readTexts(written);
  return texts && new Set(texts);
}

function readUrls(written: Texts): readonly string[] | undefined {
  const urls = written.items().map((item) => {
    const url = item.text() ?? '';
    if (url === '*') return url;
    if (!url.startsWith('/')) item.invalid(url, "non-resource URL rules must begin with a '/' character");
    if (url.slice(0, -1).includes('*'))
      item.invalid(url, "non-resource URL wildcards '*' must be the final character of the rule");
    return url;
  });
  return urls.length > 0 ? urls : undefined;
}

function readResources(written: Written<typeof resourcesSchema>): readonly AuditedResources[] | undefined {
  const items = written.items();
  return items.length > 0 ? items.map(readResourcesOfGroup) : undefined;
}

function readResourcesOfGroup(written: Written<(typeof resourcesSchema)['items']>): AuditedResources {
  const fields = written.fields();
  const group = fields.group.text() ?? '';
  if (group !== '') for (const problem of subdomainNames.whole(group)) fields.group.invalid(group, problem);
  const resources = readTexts(fields.resources);
  const resourceNames = readSet(fields.resourceNames);
  if (resourceNames && !resources)
    fields.resourceNames.invalid([...resourceNames], 'using resourceNames requires at least one resource');
  return { group, resources, resourceNames };
}

const quoted = (values: readonly string[]): string => values.map((value) => JSON.stringify(value)).join(', ');
