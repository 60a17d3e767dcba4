import { expect, test } from '@jest/globals';
import {
  type Arbitrary,
  array,
  assert,
  asyncProperty,
  constant,
  constantFrom,
  oneof,
  option,
  record,
  subarray,
} from 'fast-check';
import { callUntil, runSync, systemClock } from '@cluster-apiserver/base';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { MatchResources, NamedRuleWithOperations } from '@cluster-apiserver/kinds';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import { type Sources, withActive } from './active.ts';
import { CandidateIndex } from './candidate-index.ts';
import type { ClusterState } from './cluster-state.ts';
import { createMatcher, type Matcher, noMatcher } from './matching.ts';
import { PolicyRequest } from './request.ts';

const resource = (group: string, version: string, plural: string) => ({ group, version, plural }) as ServedKind;
const events = resource('', 'v1', 'events');
const newEvents = resource('events.k8s.io', 'v1', 'events');
const accounts = resource('', 'v1', 'serviceaccounts');
const namespaces = resource('', 'v1', 'namespaces');
const roles = resource('rbac.authorization.k8s.io', 'v1', 'clusterroles');
const equivalents = new Map([
  [events, [newEvents]],
  [newEvents, [events]],
]);
const cluster = {
  findEquivalents: (of: ServedKind) => equivalents.get(of) ?? [],
  namespace: (name: string) => ({ kind: 'Namespace', apiVersion: 'v1', metadata: { name, labels: { team: name } } }),
} as unknown as ClusterState;

const call = callUntil(Number.POSITIVE_INFINITY);
const words = (...some: string[]): Arbitrary<string[]> =>
  oneof(constant<string[]>(['*']), subarray(some, { minLength: 1 }));
const operations = ['CREATE', 'UPDATE', 'DELETE'] as const;

const rule = record({
  operations: words(...operations),
  apiGroups: words('', 'events.k8s.io', 'rbac.authorization.k8s.io'),
  apiVersions: words('v1', 'v1beta1'),
  resources: words('events', 'serviceaccounts', 'serviceaccounts/token', 'namespaces/*', '*/finalize', '*/*'),
  scope: constantFrom('*', 'Cluster', 'Namespaced'),
  resourceNames: subarray(['a', 'b']),
});
const any = (part: Partial<NamedRuleWithOperations>): NamedRuleWithOperations => ({
  operations: ['*'],
  apiGroups: ['*'],
  apiVersions: ['*'],
  resources: ['*/*'],
  ...part,
});
const selector = constantFrom({}, { matchLabels: { team: 'red' } }, { matchLabels: { team: 'blue' } });
const criteria: Arbitrary<MatchResources> = record({
  resourceRules: array(rule, { maxLength: 3 }),
  excludeResourceRules: array(rule, { maxLength: 1 }),
  matchPolicy: constantFrom('Exact', 'Equivalent'),
  namespaceSelector: selector,
  objectSelector: selector,
});
const matcher = oneof(
  { weight: 9, arbitrary: criteria.map(createMatcher) },
  { weight: 1, arbitrary: constantFrom(createMatcher(undefined), noMatcher) },
);
const object = constantFrom('red', 'blue').map((team) => ({ metadata: { labels: { team } } }));
const context = record({
  resource: constantFrom(events, newEvents, accounts, namespaces, roles),
  subresource: constantFrom(undefined, undefined, 'token', 'finalize'),
  operation: constantFrom(...operations),
  namespace: constantFrom('red', 'blue'),
  name: constantFrom('a', 'b', undefined),
  object: option(object, { nil: undefined }),
  oldObject: option(object, { nil: undefined }),
}).map((given) => {
  const isNamespaced = given.resource !== namespaces && given.resource !== roles;
  return { ...given, namespace: isNamespaced ? given.namespace : undefined, call } as AdmissionContext;
});

/** The places of the matchers that match, and the resources by which they do. */
const findMatches = (all: readonly Matcher[], among: readonly Matcher[], given: AdmissionContext) =>
  among.flatMap((one) => {
    const matched = one.matches(new PolicyRequest(given, cluster));
    return matched ? [{ place: all.indexOf(one), matched }] : [];
  });

test('the index leaves out no policy that matches one by one, in the same order', () =>
  assert(
    asyncProperty(array(matcher, { maxLength: 8 }), array(context, { maxLength: 20 }), async (all, requests) => {
      const findCandidates = withActive(sourcesOf(all), (_, candidates) => candidates);
      for (const request of requests)
        expect(findMatches(all, await findCandidates(request), request)).toEqual(findMatches(all, all, request));
    }),
    { numRuns: 500, seed: 1 },
  ));

const sourcesOf = (current: readonly Matcher[]): Sources<Matcher> => ({
  applicableSources: () => 'filesAndApi',
  fromFiles: () => [],
  fromApi: { current, waitUntilCurrent: () => undefined, close: () => {} },
  matcherOf: (one) => one,
  cluster,
  clock: systemClock,
});

const create = (given: Partial<AdmissionContext>) => ({ operation: 'CREATE', call, ...given }) as AdmissionContext;

test.each<[string, MatchResources, AdmissionContext]>([
  ['group', { resourceRules: [any({ apiGroups: ['apps'] })] }, create({ resource: roles })],
  ['version under Exact', { resourceRules: [any({ apiVersions: ['v2'] })] }, create({ resource: roles })],
  ['resource', { resourceRules: [any({ resources: ['events'] })] }, create({ resource: accounts, namespace: 'red' })],
  [
    'subresource',
    { resourceRules: [any({ resources: ['*'] })] },
    create({ resource: accounts, namespace: 'red', subresource: 'token' }),
  ],
  ['operation', { resourceRules: [any({ operations: ['DELETE'] })] }, create({ resource: roles })],
  ['scope', { resourceRules: [any({ scope: 'Namespaced' })] }, create({ resource: namespaces, name: 'red' })],
  [
    'other version under Exact',
    { resourceRules: [any({ apiGroups: [''] })], matchPolicy: 'Exact' },
    create({ resource: newEvents, namespace: 'red' }),
  ],
  ['exclusion', { excludeResourceRules: [any({ resources: ['events'] })] }, create({ resource: events })],
])('a policy that differs by its %s is no candidate', async (_, match, request) => {
  const findCandidates = withActive(sourcesOf([createMatcher(match)]), (__, candidates) => candidates);
  expect(await findCandidates(request)).toEqual([]);
});

test.each<[string, MatchResources, AdmissionContext]>([
  [
    'the other version under Equivalent',
    { resourceRules: [any({ apiGroups: [''] })], matchPolicy: 'Equivalent' },
    create({ resource: newEvents, namespace: 'red' }),
  ],
  ['a name', { resourceRules: [any({ resourceNames: ['a'] })] }, create({ resource: roles })],
  ['an excluded name', { excludeResourceRules: [any({ resourceNames: ['a'] })] }, create({ resource: roles })],
  ['a label', { objectSelector: { matchLabels: { a: 'b' } } }, create({ resource: roles })],
])('a policy that depends on %s is a candidate', async (_, match, request) => {
  const findCandidates = withActive(sourcesOf([createMatcher(match)]), (__, candidates) => candidates);
  expect(await findCandidates(request)).toHaveLength(1);
});

test('policies are looked at once per resource, subresource, operation and scope, until the list changes', async () => {
  let looked = 0;
  const counting = { ...noMatcher, canMatch: () => looked++ >= 0 };
  const sources = sourcesOf([counting, counting]);
  const findCandidates = withActive(sources, (_, candidates) => candidates);
  const requests = [
    create({ resource: accounts, namespace: 'red' }),
    create({ resource: accounts, namespace: 'red', subresource: 'token' }),
    create({ resource: accounts, namespace: 'red', operation: 'DELETE' }),
    create({ resource: roles }),
  ];
  for (const request of [...requests, ...requests]) expect(await findCandidates(request)).toHaveLength(2);
  expect(looked).toBe(2 * requests.length);
  Object.assign(sources.fromApi, { current: [counting] });
  for (const request of [...requests, ...requests]) expect(await findCandidates(request)).toHaveLength(1);
  expect(looked).toBe(3 * requests.length);
});

test('two requests that collect at the same time share one entry', () => {
  const index = new CandidateIndex([noMatcher], (one) => one);
  const request = create({ resource: roles });
  const [one, other] = [index.collect(request, cluster), index.collect(request, cluster)];
  one.next();
  const found = runSync(other);
  expect(runSync(one)).toBe(found);
  expect(index.find(request)).toBe(found);
});
