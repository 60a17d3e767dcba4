import type { Problems } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import { ageColumn, defineKind, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field } from '@cluster-apiserver/model/schema';
import { countingChangesOf } from '../counting-changes.ts';
import { labelNames, subdomainNames } from '@cluster-apiserver/model/validation';
import {
  everything,
  flowControl,
  inGoNames,
  statusSchemaOf,
  statusSubresource,
  validateStatus,
} from './flow-control.ts';
import { mandatoryFlowSchemas } from './default-objects.ts';
import {
  type FlowRule,
  type FlowSchemaSpec,
  flowSchemaSpec,
  type FlowSubject,
  type PathRule,
  type ResourceRule,
} from './flow-schema-spec.ts';

const fields = {
  spec: field(2, flowSchemaSpec, 'Requests that the schema matches, and their priority level.', 'always'),
  status: field(3, statusSchemaOf('FlowSchema'), 'The current state.', 'always'),
};

export type FlowSchema = ObjectOf<typeof fields>;

const defaultPrecedence = 1_000;
const precedenceMax = 10_000;

/** Assigns requests to a priority level. */
export const flowSchema = defineKind({
  ...flowControl,
  kind: 'FlowSchema',
  plural: 'flowschemas',
  singular: 'flowschema',
  namespaced: false,
  description: 'Assigns requests to a priority level, and to flows that share it fairly.',
  metadataChecks: 'object',
  fields,
  fieldSubresources: [statusSubresource],
  prepare: countingChangesOf('spec'),
  defaults: (schema) =>
    schema.spec.matchingPrecedence === 0
      ? { ...schema, spec: { ...schema.spec, matchingPrecedence: defaultPrecedence } }
      : schema,
  validate: ({ metadata, spec, status }, _, problems, { subresource }) => {
    if (subresource !== 'status') validateSpec(metadata.name ?? '', spec, problems.at('spec'));
    validateStatus(status, problems.at('status'));
  },
  // As they are matched.
  rowRank: ({ spec }) => spec.matchingPrecedence,
  columns: [
    nameColumn,
    {
      name: 'PriorityLevel',
      description: 'Name of the priority level.',
      value: ({ spec }) => spec.priorityLevelConfiguration.name,
    },
    {
      name: 'MatchingPrecedence',
      description: 'The schema with the smallest number counts.',
      value: ({ spec }) => spec.matchingPrecedence,
    },
    {
      name: 'DistinguisherMethod',
      description: 'Attribute by which requests are divided into flows.',
      value: ({ spec }) => spec.distinguisherMethod?.type ?? '<none>',
    },
    ageColumn,
    {
      name: 'MissingPL',
      description: 'Whether the priority level is missing.',
      value: ({ status: { conditions = [] } }) =>
        conditions.find(({ type }) => type === danglingCondition)?.status ?? '?',
    },
  ],
});

/** Says whether the priority level is missing. */
export const danglingCondition = 'Dangling';

/** Every field, for error messages. */
const shownFields = {
  priorityLevelConfiguration: { name: '' },
  matchingPrecedence: 0,
  distinguisherMethod: { type: '' },
  rules: [
    {
      subjects: [{ kind: '', user: { name: '' }, group: { name: '' }, serviceAccount: { namespace: '', name: '' } }],
      resourceRules: [{ verbs: [''], apiGroups: [''], resources: [''], clusterScope: false, namespaces: [''] }],
      nonResourceRules: [{ verbs: [''], nonResourceURLs: [''] }],
    },
  ],
};

function validateSpec(name: string, spec: FlowSchemaSpec, problems: Problems): void {
  const { matchingPrecedence: precedence, distinguisherMethod, priorityLevelConfiguration, rules = [] } = spec;
  const atPrecedence = problems.at('matchingPrecedence');
  if (precedence <= 0) atPrecedence.invalid(precedence, 'must be a positive value');
  if (precedence > precedenceMax) atPrecedence.invalid(precedence, `must not be greater than ${precedenceMax}`);
  if (precedence === 1 && name !== 'exempt')
    atPrecedence.invalid(precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
  if (distinguisherMethod && !methods.includes(distinguisherMethod.type))
    problems.at('distinguisherMethod', 'type').notSupported({ Type: distinguisherMethod.type }, methods);
  const atLevel = problems.at('priorityLevelConfiguration', 'name');
  if (priorityLevelConfiguration.name === '') atLevel.required('must reference a priority level');
  else atLevel.check(subdomainNames.whole, priorityLevelConfiguration.name);
  problems.at('rules').each(rules, validateRule);
  const fixed = mandatoryFlowSchemas[name];
  if (fixed && !sameJson(spec, fixed))
    problems.invalid(inGoNames(spec, shownFields), `spec of '${name}' must equal the fixed value`);
}

const methods = ['ByNamespace', 'ByUser'];

function validateRule({ subjects, resourceRules = [], nonResourceRules = [] }: FlowRule, problems: Problems): void {
  if (subjects && subjects.length > 0) problems.at('subjects').each(subjects, validateSubject);
  else problems.at('subjects').required('subjects must contain at least one value');
  if (resourceRules.length === 0 && nonResourceRules.length === 0)
    problems.required('at least one of resourceRules and nonResourceRules has to be non-empty');
  problems.at('resourceRules').each(resourceRules, validateResourceRule);
  problems.at('nonResourceRules').each(nonResourceRules, validatePathRule);
}

/** The members of a subject in the order of upstream's errors: the one that its kind names, and the others. */
const subjectMembers = new Map<string, readonly [Member, Member, Member]>([
  ['ServiceAccount', ['serviceAccount', 'user', 'group']],
  ['User', ['user', 'serviceAccount', 'group']],
  ['Group', ['group', 'serviceAccount', 'user']],
]);
type Member = 'user' | 'group' | 'serviceAccount';

const kindOfMember = { user: 'User', group: 'Group', serviceAccount: 'ServiceAccount' };

function validateSubject(subject: FlowSubject, problems: Problems): void {
  const members = subjectMembers.get(subject.kind);
  if (!members) return void problems.at('kind').notSupported(subject.kind, [...subjectMembers.keys()].toSorted());
  const [own, ...others] = members;
  const named = subject[own];
  const at = problems.at(own);
  if (!named) at.required(`${own} is required when subject kind is '${subject.kind}'`);
  else if (named.name === '') at.at('name').required();
  else if (own === 'serviceAccount' && named.name !== everything) at.at('name').check(subdomainNames.whole, named.name);
  if (own === 'serviceAccount' && subject.serviceAccount) {
    const { namespace } = subject.serviceAccount;
    if (namespace === '') at.at('namespace').required('must specify namespace for service account');
    else at.at('namespace').check(labelNames.whole, namespace);
  }
  for (const other of others)
    if (subject[other])
      problems.at(other).forbidden(`${other} is forbidden when subject kind is not '${kindOfMember[other]}'`);
}

const knownVerbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

function validateVerbs(verbs: readonly string[] | null, problems: Problems): void {
  if (!verbs || verbs.length === 0) problems.required('verbs must contain at least one value');
  else if (verbs.includes(everything)) standsAlone(verbs, 'verbs', problems);
  else if (!verbs.every((verb) => knownVerbs.includes(verb))) problems.notSupported(verbs, knownVerbs);
}

function standsAlone(values: readonly string[], what: string, problems: Problems): void {
  if (values.length > 1 && values.includes(everything))
    problems.invalid(values, `if '*' is present, must not specify other ${what}`);
}

function validateResourceRule(rule: ResourceRule, problems: Problems): void {
  const [apiGroups, resources, namespaces] = [rule.apiGroups ?? [], rule.resources ?? [], rule.namespaces ?? []];
  validateVerbs(rule.verbs, problems.at('verbs'));
  const atGroups = problems.at('apiGroups');
  if (apiGroups.length === 0) atGroups.required('resource rules must supply at least one api group');
  else standsAlone(apiGroups, 'api groups', atGroups);
  const atResources = problems.at('resources');
  if (resources.length === 0) atResources.required('resource rules must supply at least one resource');
  else standsAlone(resources, 'resources', atResources);
  const atNamespaces = problems.at('namespaces');
  if (namespaces.length === 0 && !rule.clusterScope)
    atNamespaces.required('resource rules that are not cluster scoped must supply at least one namespace');
  else if (namespaces.includes(everything)) standsAlone(namespaces, 'namespaces', atNamespaces);
  else
    atNamespaces.each(namespaces, (namespace, at) => {
      for (const detail of labelNames.whole(namespace))
        at.invalid(namespace, `each member of this list must be '*' or a DNS-1123 label; ${detail}`);
    });
}

function validatePathRule({ verbs, nonResourceURLs }: PathRule, problems: Problems): void {
  const paths = nonResourceURLs ?? [];
  validateVerbs(verbs, problems.at('verbs'));
  const at = problems.at('nonResourceURLs');
  if (paths.length === 0) at.required('nonResourceURLs must contain at least one value');
  else if (paths.includes(everything)) standsAlone(paths, 'non-resource URLs', at);
  else at.each(paths, validatePath);
}

function validatePath(path: string, problems: Problems): void {
  if (path === '') return void problems.invalid(path, 'must not be empty');
  if (path === '/') return;
  if (!path.startsWith('/')) problems.invalid(path, 'must start with slash');
  else if (path.includes(' ')) problems.invalid(path, 'must not contain white-space');
  else if (path.includes('//')) problems.invalid(path, 'must not contain double slash');
  else if (path.includes('*') && path.indexOf('*') !== path.length - 1) problems.invalid(path, wrongWildcard);
  else if (path.endsWith('*') && !path.endsWith('/*')) problems.invalid(path, wrongWildcard);
}

const wrongWildcard = 'wildcard can only do suffix matching';
