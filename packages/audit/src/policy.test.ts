import { describe, expect, test } from '@jest/globals';
import { type AuditPolicy, loadAuditPolicy } from '@cluster-apiserver/config';
import { type AuditAttributes, evaluatePolicy } from './policy.ts';

const policyOf = (...rules: object[]): AuditPolicy =>
  loadAuditPolicy(JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }));

const user = { name: 'ann', groups: ['devs', 'system:authenticated'] };
const accounts = { group: '', version: 'v1', namespace: 'team', plural: 'serviceaccounts', subresource: undefined };
const getAccount: AuditAttributes = {
  user,
  verb: 'get',
  path: '/api/v1/namespaces/team/serviceaccounts/robot',
  resource: accounts,
  name: 'robot',
};
const createToken: AuditAttributes = {
  ...getAccount,
  verb: 'create',
  resource: { ...accounts, subresource: 'token' },
};
const listRoles: AuditAttributes = {
  user,
  verb: 'list',
  path: '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  resource: {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    namespace: undefined,
    plural: 'clusterroles',
    subresource: undefined,
  },
  name: undefined,
};
const health: AuditAttributes = { user, verb: 'get', path: '/healthz/etcd', resource: undefined, name: undefined };
const unauthenticated: AuditAttributes = { ...getAccount, user: undefined };

const requests = { getAccount, createToken, listRoles, health, unauthenticated };
type Name = keyof typeof requests;

describe('A rule matches', () => {
  test.each<[string, object, Name[]]>([
    ['without conditions', {}, ['getAccount', 'createToken', 'listRoles', 'health', 'unauthenticated']],
    ['by its users', { users: ['bob', 'ann'] }, ['getAccount', 'createToken', 'listRoles', 'health']],
    ['by no other user', { users: ['bob'] }, []],
    ['by its groups', { userGroups: ['devs'] }, ['getAccount', 'createToken', 'listRoles', 'health']],
    ['by no other group', { userGroups: ['ops'] }, []],
    ['by its verbs', { verbs: ['create', 'list'] }, ['createToken', 'listRoles']],
    ['by no wildcard of verbs', { verbs: ['*'] }, []],
    // As in kube-apiserver, which knows wildcards of resources and paths only.
    ['by no wildcard of users', { users: ['*'] }, []],
    ['by no wildcard of groups of users', { userGroups: ['*'] }, []],
    ['by no wildcard of namespaces', { namespaces: ['*'] }, []],
    ['by all of its conditions', { users: ['ann'], verbs: ['list'], namespaces: ['team'] }, []],
    ['by its namespaces', { namespaces: ['team'] }, ['getAccount', 'createToken', 'unauthenticated']],
    ['cluster-scoped resources by the empty namespace', { namespaces: [''] }, ['listRoles']],
    ['by a group of resources', { resources: [{ group: '' }] }, ['getAccount', 'createToken', 'unauthenticated']],
    ['by another group', { resources: [{ group: 'rbac.authorization.k8s.io' }] }, ['listRoles']],
    [
      'a resource without its subresources',
      { resources: [{ resources: ['serviceaccounts'] }] },
      ['getAccount', 'unauthenticated'],
    ],
    ['a subresource', { resources: [{ resources: ['serviceaccounts/token'] }] }, ['createToken']],
    ['a subresource of every resource', { resources: [{ resources: ['*/token'] }] }, ['createToken']],
    [
      'a resource with its subresources',
      { resources: [{ resources: ['serviceaccounts/*'] }] },
      ['getAccount', 'createToken', 'unauthenticated'],
    ],
    [
      'every resource of a group',
      { resources: [{ resources: ['*'] }] },
      ['getAccount', 'createToken', 'unauthenticated'],
    ],
    [
      'not a resource by part of its name',
      { resources: [{ resources: ['service', 'serviceaccounts/tok', '/token'] }] },
      [],
    ],
    [
      'by names',
      { resources: [{ resources: ['*'], resourceNames: ['robot'] }] },
      ['getAccount', 'createToken', 'unauthenticated'],
    ],
    ['by no other name', { resources: [{ resources: ['*'], resourceNames: ['rob'] }] }, []],
    [
      'not a collection by a name',
      { resources: [{ group: 'rbac.authorization.k8s.io', resources: ['*'], resourceNames: ['a'] }] },
      [],
    ],
    [
      'by one of several groups',
      { resources: [{ group: 'a' }, { group: '' }] },
      ['getAccount', 'createToken', 'unauthenticated'],
    ],
    ['a path', { nonResourceURLs: ['/healthz/etcd'] }, ['health']],
    ['paths that begin like it', { nonResourceURLs: ['/healthz*'] }, ['health']],
    ['every path', { nonResourceURLs: ['*'] }, ['health']],
    ['no longer path', { nonResourceURLs: ['/healthz'] }, []],
  ])('%s', (_, rule, expected) => {
    const policy = policyOf({ level: 'Metadata', ...rule });
    const matched = Object.entries(requests).filter(([, request]) => evaluatePolicy(policy, request));
    expect(matched.map(([name]) => name)).toEqual(expected);
  });
});

test('the first rule that matches decides, and None records nothing', () => {
  const policy = policyOf(
    { level: 'None', verbs: ['list'] },
    { level: 'Request', users: ['ann'] },
    { level: 'Metadata' },
  );
  const levels = Object.values(requests).map((request) => evaluatePolicy(policy, request)?.level);
  expect(levels).toEqual(['Request', 'Request', undefined, 'Request', 'Metadata']);
});

test('a request that no rule matches is not recorded', () => {
  expect(evaluatePolicy(policyOf({ level: 'Metadata', users: ['bob'] }), getAccount)).toBeUndefined();
});
