import { callUntil } from '@cluster-apiserver/base';
import type { PolicyRule, RbacSubject, RoleRef } from '@cluster-apiserver/model';
import { describe, expect, test } from '@jest/globals';
import { account, asks, asksPath, group, ref, user, who } from '../../../test/rbac.ts';
import { PolicyIndex } from './policy-index.ts';
import { createRbacAuthorizer } from './rbac-authorizer.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const listAccounts: PolicyRule = { verbs: ['list'], apiGroups: [''], resources: ['serviceaccounts'] };

/** One role with these rules, bound to alice in the namespace `a`, or everywhere. */
function indexWith(rules: readonly PolicyRule[], where: 'a' | 'everywhere' = 'a'): PolicyIndex {
  const index = new PolicyIndex();
  const namespace = where === 'a' ? 'a' : undefined;
  index.setRole({ namespace: undefined, name: 'r', rules });
  index.setBinding({ namespace, name: 'b', roleRef: ref('ClusterRole', 'r'), subjects: [user('alice')] });
  return index;
}

describe('a rule for resources', () => {
  const alice = who('alice');
  test.each<[boolean, PolicyRule, Parameters<typeof asks>[2]]>([
    [true, {}, {}],
    [false, {}, { verb: 'get' }],
    [false, {}, { group: 'apps' }],
    [false, {}, { resource: 'events' }],
    [false, {}, { subresource: 'token' }],
    [true, {}, { name: 'x' }],
    [true, { verbs: ['*'] }, { verb: 'dance' }],
    [false, { verbs: ['LIST'] }, {}],
    [true, { apiGroups: ['*'] }, { group: 'apps' }],
    [true, { resources: ['*'] }, { resource: 'x', subresource: 'y' }],
    [true, { resources: ['serviceaccounts/token'] }, { subresource: 'token' }],
    [true, { resources: ['serviceaccounts/token'] }, { resource: 'serviceaccounts/token' }],
    [false, { resources: ['serviceaccounts/token'] }, {}],
    [true, { resources: ['*/token'] }, { subresource: 'token' }],
    [false, { resources: ['*/token'] }, { subresource: 'tokens' }],
    [false, { resources: ['*/token'] }, {}],
    [true, { resourceNames: ['x'] }, { name: 'x' }],
    [false, { resourceNames: ['x'] }, { name: 'y' }],
    [false, { resourceNames: ['x'] }, {}],
    [true, { resourceNames: [''] }, {}],
    [false, { resourceNames: ['*'] }, { name: 'x' }],
    [true, { resourceNames: [] }, { name: 'x' }],
    [false, { verbs: [] }, {}],
  ])('%s: %j for %j', (isAllowed, rule, question) => {
    const { verdict } = indexWith([{ ...listAccounts, ...rule }]).authorize(asks(alice, 'a', question));
    expect(verdict).toBe(isAllowed ? 'allow' : 'noOpinion');
  });

  test('is not combined with another rule', () => {
    const index = indexWith([listAccounts, { verbs: ['get'], apiGroups: [''], resources: ['events'] }]);
    expect(index.authorize(asks(alice, 'a', { verb: 'get' })).verdict).toBe('noOpinion');
    expect(index.authorize(asks(alice, 'a', { verb: 'get', resource: 'events' })).verdict).toBe('allow');
  });
});

test.each([
  [true, ['/metrics'], '/metrics'],
  [false, ['/metrics'], '/metrics/slis'],
  [true, ['/metrics/*'], '/metrics/slis'],
  [false, ['/metrics/*'], '/metrics'],
  [true, ['/met*'], '/metrics'],
  [true, ['*'], ''],
  [true, ['/a**'], '/ab'],
  [false, [], '/'],
])('that paths are allowed is %s: %j for %s', (isAllowed, nonResourceURLs, path) => {
  const rules = [{ verbs: ['get'], nonResourceURLs }];
  const ask = (index: PolicyIndex, verb?: string): string =>
    index.authorize(asksPath(who('alice'), path, verb)).verdict;
  expect(ask(indexWith(rules, 'everywhere'))).toBe(isAllowed ? 'allow' : 'noOpinion');
  expect(ask(indexWith(rules, 'everywhere'), 'post')).toBe('noOpinion');
  // A RoleBinding grants no paths.
  expect(ask(indexWith(rules, 'a'))).toBe('noOpinion');
});

describe('a binding', () => {
  const index = new PolicyIndex();
  index.setRole({ namespace: 'a', name: 'r', rules: [listAccounts] });
  index.setRole({ namespace: undefined, name: 'c', rules: [listAccounts] });
  const bind = (name: string, subject: RbacSubject, role = ref('Role', 'r'), namespace: string | undefined = 'a') =>
    index.setBinding({ namespace, name, roleRef: role, subjects: [subject] });
  bind('u', user('alice'));
  bind('g', group('devs'));
  bind('s', account('robot'));
  bind('t', account('robot', 'b'));
  index.setBinding({
    namespace: undefined,
    name: 'all',
    roleRef: ref('ClusterRole', 'c'),
    subjects: [user('root'), account('lost'), { kind: 'Star', name: 'x' }],
  });
  bind('x', user('carol'), ref('ClusterRole', 'c'));

  test.each([
    [who('alice'), 'a', 'RoleBinding "u/a" of Role "r" to User "alice"'],
    [who('bob', 'staff', 'devs'), 'a', 'RoleBinding "g/a" of Role "r" to Group "devs"'],
    [who('system:serviceaccount:a:robot'), 'a', 'RoleBinding "s/a" of Role "r" to ServiceAccount "robot/a"'],
    [who('system:serviceaccount:b:robot'), 'a', 'RoleBinding "t/a" of Role "r" to ServiceAccount "robot/b"'],
    [who('root'), 'z', 'ClusterRoleBinding "all" of ClusterRole "c" to User "root"'],
    [who('root'), undefined, 'ClusterRoleBinding "all" of ClusterRole "c" to User "root"'],
    [who('carol'), 'a', 'RoleBinding "x/a" of ClusterRole "c" to User "carol"'],
  ])('allows %j in %s, and is named', (asker, namespace, reason) => {
    const allowed = { verdict: 'allow', reason: `RBAC: allowed by ${reason}` };
    expect(index.authorize(asks(asker, namespace))).toEqual(allowed);
  });

  test.each([
    [who('alice'), 'b'],
    [who('alice'), undefined],
    [who('alice'), ''],
    [who('carol'), undefined],
    [who('Alice'), 'a'],
    [who('devs'), 'a'],
    [who('bob', 'alice'), 'a'],
    [who('x'), undefined],
    [who('system:serviceaccount:c:robot'), 'a'],
    [who('system:serviceaccount::lost'), 'a'],
  ])('does not allow %j in %s', (asker, namespace) => {
    expect(index.authorize(asks(asker, namespace))).toEqual({ verdict: 'noOpinion' });
  });
});

describe('a change', () => {
  const ask = (index: PolicyIndex, name = 'alice') => index.authorize(asks(who(name), 'a'));
  const bind = (index: PolicyIndex, name: string, role: RoleRef, ...subjects: RbacSubject[]): void =>
    index.setBinding({ namespace: 'a', name, roleRef: role, subjects });

  test('of a role applies to all its subjects, and a deleted role is named in the refusal', () => {
    const index = indexWith([]);
    expect(ask(index)).toEqual({ verdict: 'noOpinion' });
    index.setRole({ namespace: undefined, name: 'r', rules: [listAccounts] });
    expect(ask(index).verdict).toBe('allow');
    index.deleteRole(undefined, 'r');
    const missing = 'clusterrole.rbac.authorization.k8s.io "r" not found';
    expect(ask(index)).toEqual({ verdict: 'noOpinion', reason: `RBAC: ${missing}` });
    expect(ask(index, 'bob')).toEqual({ verdict: 'noOpinion' });
    bind(index, 'c', ref('Role', 'gone'), user('alice'));
    expect(ask(index).reason).toBe(`RBAC: [${missing}, role.rbac.authorization.k8s.io "gone" not found]`);
    index.setRole({ namespace: undefined, name: 'r', rules: undefined });
    expect(ask(index).reason).toContain('"r" cannot be read');
    index.setRole({ namespace: undefined, name: 'r', rules: [listAccounts] });
    expect(ask(index).verdict).toBe('allow');
  });

  test('of a binding takes effect at once and keeps what another binding grants', () => {
    const index = indexWith([listAccounts]);
    bind(index, 'b2', ref('ClusterRole', 'r'), user('alice'), user('alice'), user('bob'));
    index.deleteBinding('a', 'b');
    expect(ask(index).reason).toContain('"b2/a"');
    bind(index, 'b2', ref('ClusterRole', 'r'), user('bob'));
    expect([ask(index).verdict, ask(index, 'bob').verdict]).toEqual(['noOpinion', 'allow']);
    index.deleteBinding('a', 'b2');
    index.deleteBinding('a', 'b2');
    expect(ask(index, 'bob')).toEqual({ verdict: 'noOpinion' });
  });

  test('names at most 100 missing roles', () => {
    const index = new PolicyIndex();
    for (let at = 0; at < 150; at++) bind(index, `b${at}`, ref('Role', `r${at}`), user('alice'));
    expect(ask(index).reason?.match(/not found/g)).toHaveLength(100);
  });
});

describe('the authorizer', () => {
  test('has no opinion before roles and bindings have been read', async () => {
    const { authorize, rulesOf } = createRbacAuthorizer(() => undefined);
    expect(authorize(asks(who('alice'), 'a'), call)).toEqual({ verdict: 'notReady' });
    expect(await rulesOf(who('alice'), 'a', call)).toEqual({ resource: [], nonResource: [], incomplete: true });
  });

  test('lists the rules of each binding once, and says which roles are missing', async () => {
    const index = indexWith([
      { ...listAccounts, resourceNames: ['x'] },
      { verbs: ['get'], nonResourceURLs: ['/m'] },
    ]);
    index.setBinding({
      namespace: undefined,
      name: 'g',
      roleRef: ref('ClusterRole', 'gone'),
      subjects: [group('devs'), user('alice')],
    });
    index.setBinding({
      namespace: 'a',
      name: 'second',
      roleRef: ref('ClusterRole', 'r'),
      subjects: [group('devs'), user('alice')],
    });
    const { resource, nonResource, incomplete, error } = await createRbacAuthorizer(() => index).rulesOf(
      who('alice', 'devs'),
      'a',
      call,
    );
    const rule = { ...listAccounts, resourceNames: ['x'] };
    expect({ resource, nonResource, incomplete }).toEqual({
      resource: [rule, rule],
      nonResource: [
        { verbs: ['get'], nonResourceURLs: ['/m'] },
        { verbs: ['get'], nonResourceURLs: ['/m'] },
      ],
      incomplete: false,
    });
    expect(error?.message).toBe('clusterrole.rbac.authorization.k8s.io "gone" not found');
  });
});
