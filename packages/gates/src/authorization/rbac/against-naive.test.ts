import type { AccessAttributes, PolicyRule, RbacSubject, RoleRef, UserInfo } from '@cluster-apiserver/model';
import { expect, test } from '@jest/globals';
import {
  type Arbitrary,
  array,
  assert,
  constant,
  constantFrom,
  noBias,
  oneof,
  option,
  property,
  record,
  sample,
  tuple,
} from 'fast-check';
import { account, asks, asksPath, group, ref, user, who } from '../../../test/rbac.ts';
import { PolicyIndex } from './policy-index.ts';

/**
 * A second implementation that keeps lists and reads them from the beginning to the end, as RBAC defines them.
 * Small worlds of few names make agreement by chance unlikely: about a tenth of the questions is allowed.
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

const users = ['alice', 'bob', 'system:serviceaccount:a:robot', 'system:serviceaccount:b:robot'];
const userGroups = ['devs', 'ops', 'alice'];
const some = <T>(...values: T[]): Arbitrary<T[]> => array(constantFrom(...values), { minLength: 1, maxLength: 2 });

const verbs = some('get', 'list', '*');
const pathRule: Arbitrary<PolicyRule> = record({
  verbs,
  nonResourceURLs: some('/p', '/p/q', '/p/*', '/*', '*', '/q'),
});
const resourceRule: Arbitrary<PolicyRule> = record({
  verbs,
  apiGroups: some('', 'g', '*'),
  resources: some('x', 'y', 'x/s', '*/s', 'y/t', '*'),
  resourceNames: oneof(some('n', 'm', ''), constant([]), constant([])),
});
const subject = oneof(
  constantFrom(...users).map(user),
  constantFrom(...userGroups).map(group),
  constantFrom('a', 'b').map((namespace) => account('robot', namespace)),
);
const place = { namespace: constantFrom(undefined, 'a', 'b'), name: constantFrom('r1', 'r2', 'r3') };
/** Without rules or subjects a deletion. */
const change = oneof(
  record({
    ...place,
    rules: option(array(oneof(pathRule, resourceRule, resourceRule), { maxLength: 5 }), { freq: 4 }),
  }),
  record({
    ...place,
    roleKind: constantFrom('Role', 'ClusterRole'),
    roleName: place.name,
    subjects: option(array(subject, { maxLength: 3 }), { freq: 4 }),
  }),
);

const asker = tuple(constantFrom(...users), oneof(constant([]), some(...userGroups))).map(([name, groups]) =>
  who(name, ...groups),
);
const verb = constantFrom('get', 'list', 'list', 'put');
const pathQuestion = tuple(asker, constantFrom('/p', '/p/q', '/p/q/r', '/q', '/z'), verb).map((of) => asksPath(...of));
const resourceQuestion = tuple(
  asker,
  constantFrom('a', 'b', 'c', undefined),
  record({
    verb,
    group: constantFrom('', 'g', 'g', 'h'),
    resource: constantFrom('x', 'y', 'z'),
    subresource: constantFrom(undefined, undefined, 's', 't'),
    name: constantFrom(undefined, 'n', 'm', ''),
  }),
).map((of) => asks(...of));
const question = oneof(pathQuestion, resourceQuestion, resourceQuestion, resourceQuestion);

test('the index of RBAC decides as a naive implementation does on random policies that change', () => {
  // Choosing from a pool takes less time than generating values.
  const pool = <T>(of: Arbitrary<T>): Arbitrary<T> => constantFrom(...sample(noBias(of), { numRuns: 5_000, seed: 1 }));
  const changes = pool(change);
  const nothing = constant(undefined);
  const steps = record({ next: pool(question), before: oneof(changes, nothing, nothing, nothing) });
  let [asked, allowed] = [0, 0];
  assert(
    property(
      array(changes, { maxLength: 100, size: 'max' }),
      array(steps, { maxLength: 100, size: 'max' }),
      (begun, later) => {
        const [index, naive] = [new PolicyIndex(), new NaivePolicy()];
        for (const one of begun) apply(one, index, naive);
        for (const { next, before } of later) {
          if (before) apply(before, index, naive);
          const expected = naive.allows(next);
          asked++;
          if (expected) allowed++;
          if ((index.authorize(next).verdict === 'allow') !== expected)
            throw new Error(`not as the naive one: ${expected}`);
        }
      },
    ),
    { numRuns: 2_500, seed: 20_260_717 },
  );
  // A generator that hardly ever allows, or nearly always, would find nothing.
  expect(allowed).toBeGreaterThan(asked / 20);
  expect(allowed).toBeLessThan((asked * 9) / 10);
});

function apply(next: Value<typeof change>, index: PolicyIndex, naive: NaivePolicy): void {
  const { namespace, name } = next;
  const list: { namespace: string | undefined; name: string }[] = 'rules' in next ? naive.roles : naive.bindings;
  const at = list.findIndex((one) => one.namespace === namespace && one.name === name);
  if (at >= 0) list.splice(at, 1);
  if ('rules' in next) {
    if (!next.rules) return index.deleteRole(namespace, name);
    const role = { namespace, name, rules: next.rules };
    naive.roles.push(role);
    return index.setRole(role);
  }
  if (!next.subjects) return index.deleteBinding(namespace, name);
  const roleRef = ref(namespace === undefined ? 'ClusterRole' : next.roleKind, next.roleName);
  const binding = { namespace, name, roleRef, subjects: next.subjects };
  naive.bindings.push(binding);
  return index.setBinding(binding);
}

type Value<A> = A extends Arbitrary<infer T> ? T : never;
