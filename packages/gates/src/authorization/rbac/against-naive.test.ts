import { seededRandom } from '@cluster-apiserver/base';
import type { AccessAttributes, PolicyRule, RbacSubject, RoleRef, UserInfo } from '@cluster-apiserver/model';
import { expect, test } from '@jest/globals';
import { account, asks, asksPath, group, ref, user, who } from '../../../test/rbac.ts';
import { PolicyIndex } from './policy-index.ts';

/**
 * A second implementation that keeps lists and reads them from the beginning to the end, as RBAC defines them.
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

  allows({ user: asker, verb, path, resource }: AccessAttributes): boolean {
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
  { group: asked, resource, subresource, name = '' }: NonNullable<AccessAttributes['resource']>,
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
  const question = (): AccessAttributes => {
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
      const next = question();
      const expected = naive.allows(next);
      if (expected) allowed++;
      if ((index.authorize(next).verdict === 'allow') !== expected)
        throw new Error(
          `not as the naive one (${expected}): ${JSON.stringify({ next, roles: naive.roles, bindings: naive.bindings })}`,
        );
    }
  }
  // A generator that hardly ever allows, or nearly always, would find nothing.
  expect(allowed).toBeGreaterThan(questionsTotal / 10);
  expect(allowed).toBeLessThan((questionsTotal * 9) / 10);
});
