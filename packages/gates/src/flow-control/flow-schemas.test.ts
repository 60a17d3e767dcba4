import { expect, test } from '@jest/globals';
import { compareFlowSchemas, compileFlowSchema, type FlowRequest, type FlowSchemaObject } from './flow-schemas.ts';

type Rules = NonNullable<FlowSchemaObject['spec']['rules']>;
type Rule = Rules[number];
type Subject = NonNullable<Rule['subjects']>[number];

const schema = (rules: Rules, method?: string, name = 'x', precedence = 1_000): FlowSchemaObject => ({
  metadata: { name, uid: 'u' },
  spec: {
    priorityLevelConfiguration: { name: 'level' },
    matchingPrecedence: precedence,
    ...(method !== undefined && { distinguisherMethod: { type: method } }),
    rules,
  },
});

const list = { verb: 'list', path: '/api/v1/namespaces/team/events' };
const events = { group: '', plural: 'events', subresource: undefined, namespace: 'team' };
const request = (
  user: Partial<FlowRequest['user']> = {},
  info: Partial<FlowRequest['info']> = { ...list, resource: events },
): FlowRequest => ({
  user: { name: 'ann', uid: undefined, groups: ['devs'], extra: {}, ...user },
  info: { ...list, resource: undefined, ...info },
});

const anything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true };
const everyone: Subject = { kind: 'Group', group: { name: '*' } };

test.each<[string, Subject, boolean]>([
  ['the user', { kind: 'User', user: { name: 'ann' } }, true],
  ['another user', { kind: 'User', user: { name: 'bob' } }, false],
  ['all users', { kind: 'User', user: { name: '*' } }, true],
  ['a group of the user', { kind: 'Group', group: { name: 'devs' } }, true],
  ['another group', { kind: 'Group', group: { name: 'ops' } }, false],
  ['a service account', { kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name: '*' } }, false],
])('a request of %s', (_, subject, expected) => {
  const { matches } = compileFlowSchema(schema([{ subjects: [subject], resourceRules: [anything] }]));
  expect(matches(request())).toBe(expected);
});

test.each<[string, string, boolean]>([
  ['robot', 'system:serviceaccount:team:robot', true],
  ['*', 'system:serviceaccount:team:robot', true],
  ['other', 'system:serviceaccount:team:robot', false],
  ['*', 'system:serviceaccount:teams:robot', false],
  ['*', 'robot', false],
])('the service account %s of a namespace matches the user %s: %s', (name, user, expected) => {
  const subject = { kind: 'ServiceAccount', serviceAccount: { namespace: 'team', name } };
  const { matches } = compileFlowSchema(schema([{ subjects: [subject], resourceRules: [anything] }]));
  expect(matches(request({ name: user }))).toBe(expected);
});

test.each<[string, object, object, boolean]>([
  ['everything', {}, {}, true],
  ['the verb', { verbs: ['list'] }, {}, true],
  ['another verb', { verbs: ['get'] }, {}, false],
  ['another group', { apiGroups: ['apps'] }, {}, false],
  ['the resource', { resources: ['events'] }, {}, true],
  ['a resource without its subresource', { resources: ['events'] }, { subresource: 'status' }, false],
  ['the subresource', { resources: ['events/status'] }, { subresource: 'status' }, true],
  ['the namespace', { namespaces: ['team'] }, {}, true],
  ['another namespace', { namespaces: ['other'] }, {}, false],
  ['all namespaces, at the scope of the cluster', { clusterScope: false }, { namespace: undefined }, false],
  ['the cluster', { namespaces: [], clusterScope: true }, { namespace: undefined }, true],
  ['the cluster, in a namespace', { namespaces: [], clusterScope: true }, {}, false],
])('a resource rule for %s', (_, rule, resource, expected) => {
  const { matches } = compileFlowSchema(schema([{ subjects: [everyone], resourceRules: [{ ...anything, ...rule }] }]));
  expect(matches(request({}, { ...list, resource: { ...events, ...resource } }))).toBe(expected);
});

test.each<[string, string[], string, boolean]>([
  ['get', ['/healthz'], '/healthz', true],
  ['get', ['/healthz'], '/healthz/etcd', false],
  ['get', ['/healthz/*'], '/healthz/etcd', true],
  ['get', ['*'], '/version', true],
  ['post', ['*'], '/version', false],
])('a rule for paths: %s %j matches %s: %s', (verb, nonResourceURLs, path, expected) => {
  const { matches } = compileFlowSchema(
    schema([{ subjects: [everyone], nonResourceRules: [{ verbs: ['get'], nonResourceURLs }] }]),
  );
  expect(matches(request({}, { verb, path, resource: undefined }))).toBe(expected);
});

test('a rule for resources is none for paths, and the other way round', () => {
  const ofResources = compileFlowSchema(schema([{ subjects: [everyone], resourceRules: [anything] }]));
  const ofPaths = compileFlowSchema(
    schema([{ subjects: [everyone], nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }] }]),
  );
  expect(ofResources.matches(request({}, { resource: undefined }))).toBe(false);
  expect(ofPaths.matches(request())).toBe(false);
});

test.each([
  [undefined, ''],
  ['ByUser', 'ann'],
  ['ByNamespace', 'team'],
])('the flow of a request by the method %s', (method, expected) => {
  expect(compileFlowSchema(schema([], method)).flowOf(request())).toBe(expected);
});

test('the smallest precedence comes first, then the name', () => {
  const names = [schema([], undefined, 'b', 5), schema([], undefined, 'c', 1), schema([], undefined, 'a', 5)]
    .map(compileFlowSchema)
    .toSorted(compareFlowSchemas)
    .map(({ name }) => name);
  expect(names).toEqual(['c', 'a', 'b']);
});
