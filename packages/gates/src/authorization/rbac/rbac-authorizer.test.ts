import { callUntil, seededRandom } from '@cluster-apiserver/base';
import type { AccessQuestion, PolicyRule, RbacSubject, RoleRef, UserInfo } from '@cluster-apiserver/model';
import { describe, expect, test } from '@jest/globals';
import { PolicyIndex } from './policy-index.ts';
import { rbacAuthorizer } from './rbac-authorizer.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const ref = (kind: string, name: string): RoleRef => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
const user = (name: string): RbacSubject => ({ kind: 'User', name });
const group = (name: string): RbacSubject => ({ kind: 'Group', name });
const account = (name: string, namespace?: string): RbacSubject => ({
  kind: 'ServiceAccount',
  name,
  ...(namespace !== undefined && { namespace }),
});
const who = (name: string, ...groups: string[]): UserInfo => ({ name, groups });

const listAccounts: PolicyRule = { verbs: ['list'], apiGroups: [''], resources: ['serviceaccounts'] };
const asks = (
  asker: UserInfo,
  namespace: string | undefined,
  more: Partial<NonNullable<AccessQuestion['resource']>> & { readonly verb?: string } = {},
): AccessQuestion => {
  const { verb = 'list', ...resource } = more;
  return {
    user: asker,
    verb,
    path: '',
    resource: {
      group: '',
      version: 'v1',
      resource: 'serviceaccounts',
      subresource: undefined,
      namespace,
      name: undefined,
      ...resource,
    },
  };
};
const asksPath = (asker: UserInfo, path: string, verb = 'get'): AccessQuestion => ({ user: asker, verb, path });

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

  test('joins nothing with another rule', () => {
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

  test('of a role holds for all who are bound to it, and a role that is gone is named in the refusal', () => {
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

  test('of a binding takes effect at once, and what another one grants stays', () => {
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
  test('decides nothing before roles and bindings have been read', async () => {
    const { authorize, rulesOf } = rbacAuthorizer(() => undefined);
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
    const { resource, nonResource, incomplete, error } = await rbacAuthorizer(() => index).rulesOf(
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

/**
 * A second implementation that keeps lists and reads them from the beginning to the end, as the rules of RBAC are told.
 * Small worlds of few names make agreement by chance unlikely: about half of the questions are allowed.
 */
class NaivePolicy {
  readonly roles: { namespace: string | undefined; name: string; rules: readonly PolicyRule[] }[] = [];
  readonly bindings: {
    namespace: string | undefined;
    name: string;
    roleRef: RoleRef;
    subjects: readonly RbacSubject[];
  }[] = [];

  allows({ user: asker, verb, path, resource }: AccessQuestion): boolean {
    return this.bindings.some((binding) => {
      if (binding.namespace !== undefined && (!resource || resource.namespace !== binding.namespace)) return false;
      if (!binding.subjects.some((subject) => isMeant(subject, binding.namespace, asker))) return false;
      const of = binding.roleRef.kind === 'Role' ? binding.namespace : undefined;
      const role = this.roles.find(({ namespace, name }) => namespace === of && name === binding.roleRef.name);
      return (role?.rules ?? []).some((rule) =>
        resource ? ruleAllows(rule, verb, resource) : pathAllowed(rule, verb, path),
      );
    });
  }
}

function isMeant({ kind, name, namespace }: RbacSubject, home: string | undefined, { name: is, groups }: UserInfo) {
  if (kind === 'User') return is === name;
  if (kind === 'Group') return groups.includes(name);
  return is === `system:serviceaccount:${namespace ?? home}:${name}`;
}

const starOr = (values: readonly string[] | undefined, value: string): boolean =>
  (values ?? []).some((one) => one === '*' || one === value);

function ruleAllows(
  rule: PolicyRule,
  verb: string,
  { group: asked, resource, subresource, name = '' }: NonNullable<AccessQuestion['resource']>,
): boolean {
  const whole = subresource ? `${resource}/${subresource}` : resource;
  const names = rule.resourceNames ?? [];
  return (
    starOr(rule.verbs, verb) &&
    starOr(rule.apiGroups, asked) &&
    (starOr(rule.resources, whole) || (!!subresource && (rule.resources ?? []).includes(`*/${subresource}`))) &&
    (names.length === 0 || names.includes(name))
  );
}

const pathAllowed = (rule: PolicyRule, verb: string, path: string): boolean =>
  starOr(rule.verbs, verb) &&
  (rule.nonResourceURLs ?? []).some((url) => (url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : path === url));

const questionsTotal = 100_000;
const questionsPerPolicy = 50;

test(`agrees with the naive implementation on ${questionsTotal} questions about random policies that change`, () => {
  const random = seededRandom(20_260_717);
  const oneOf = <T>(values: readonly T[]): T => values[random.below(values.length)] as T;
  const some = <T>(values: readonly T[], max: number): T[] =>
    Array.from({ length: 1 + random.below(max) }, () => oneOf(values));
  const chance = (of: number): boolean => random.below(of) === 0;
  const [verbs, groups, namespaces] = [
    ['get', 'list', '*'],
    ['', 'g', '*'],
    ['a', 'b'],
  ];
  const resources = ['x', 'y', 'x/s', '*/s', 'y/t', '*'];
  const paths = ['/p', '/p/q', '/p/*', '/*', '*', '/q'];
  const names = ['r1', 'r2', 'r3'];
  const users = ['alice', 'bob', 'system:serviceaccount:a:robot', 'system:serviceaccount:b:robot'];
  const userGroups = ['devs', 'ops', 'alice'];

  const rule = (): PolicyRule =>
    chance(3)
      ? { verbs: some(verbs, 2), nonResourceURLs: some(paths, 2) }
      : {
          verbs: some(verbs, 2),
          apiGroups: some(groups, 2),
          resources: some(resources, 2),
          ...(chance(3) && { resourceNames: some(['n', 'm', ''], 2) }),
        };
  const subject = (): RbacSubject =>
    oneOf([() => user(oneOf(users)), () => group(oneOf(userGroups)), () => account('robot', oneOf(['a', 'b']))])();
  const question = (): AccessQuestion => {
    const asker = who(oneOf(users), ...(chance(2) ? some(userGroups, 2) : []));
    const verb = oneOf(['get', 'list', 'list', 'put']);
    if (chance(4)) return asksPath(asker, oneOf(['/p', '/p/q', '/p/q/r', '/q', '/z']), verb);
    return asks(asker, oneOf(['a', 'b', 'c', undefined]), {
      verb,
      group: oneOf(['', 'g', 'g', 'h']),
      resource: oneOf(['x', 'y', 'z']),
      subresource: oneOf([undefined, undefined, 's', 't']),
      name: oneOf([undefined, 'n', 'm', '']),
    });
  };

  let allowed = 0;
  for (let asked = 0; asked < questionsTotal; ) {
    const index = new PolicyIndex();
    const naive = new NaivePolicy();
    const change = (): void => {
      const namespace = oneOf([undefined, ...namespaces]);
      const name = oneOf(names);
      const list: { namespace: string | undefined; name: string }[] = chance(2) ? naive.roles : naive.bindings;
      const at = list.findIndex((one) => one.namespace === namespace && one.name === name);
      if (at >= 0) list.splice(at, 1);
      const isDeletion = chance(4);
      if (list === naive.roles) {
        if (isDeletion) return index.deleteRole(namespace, name);
        const role = { namespace, name, rules: Array.from({ length: random.below(6) }, rule) };
        naive.roles.push(role);
        return index.setRole(role);
      }
      if (isDeletion) return index.deleteBinding(namespace, name);
      const roleRef = ref(namespace === undefined ? 'ClusterRole' : oneOf(['Role', 'ClusterRole']), oneOf(names));
      const binding = { namespace, name, roleRef, subjects: Array.from({ length: random.below(4) }, subject) };
      naive.bindings.push(binding);
      index.setBinding(binding);
    };
    for (let changes = 0; changes < 40; changes++) change();
    for (let at = 0; at < questionsPerPolicy; at++, asked++) {
      if (chance(4)) change();
      const asks = question();
      const expected = naive.allows(asks);
      if (expected) allowed++;
      if ((index.authorize(asks).verdict === 'allow') !== expected)
        throw new Error(`not as the naive one (${expected}): ${JSON.stringify({ asks, ...naive })}`);
    }
  }
  // A generator that hardly ever allows, or nearly always, would find nothing.
  expect(allowed).toBeGreaterThan(questionsTotal / 10);
  expect(allowed).toBeLessThan((questionsTotal * 9) / 10);
});
