import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openPolicyServer, type PolicyServer } from './policy-server.ts';

let server: PolicyServer;
beforeAll(async () => {
  server = await openPolicyServer();
  for (const [name, labels] of [
    ['red', { team: 'red' }],
    ['blue', { team: 'blue' }],
  ] as const)
    await server.request('POST', '/api/v1/namespaces', { metadata: { name, labels } });
});
afterAll(async () => {
  expect(server.internalErrors).toEqual([]);
  await server.close();
});

const core = '/api/v1/namespaces';
const accounts = (namespace: string): string => `${core}/${namespace}/serviceaccounts`;
const event = { involvedObject: { namespace: 'red', name: 'a' }, reason: 'R' };
const newEvent = {
  regarding: { namespace: 'red', name: 'a' },
  reason: 'R',
  action: 'a',
  type: 'Normal',
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'e.com/c',
  reportingInstance: 'i',
};

/** Dry runs for each rule. */
const writes = {
  account: ['POST', `${accounts('red')}?dryRun=All`, { metadata: { name: 'a', labels: { app: 'web' } } }],
  'blue account': ['POST', `${accounts('blue')}?dryRun=All`, { metadata: { name: 'b' } }],
  event: ['POST', `${core}/red/events?dryRun=All`, { metadata: { name: 'a' }, ...event }],
  'new event': [
    'POST',
    '/apis/events.k8s.io/v1/namespaces/red/events?dryRun=All',
    { metadata: { name: 'a' }, ...newEvent },
  ],
  namespace: ['POST', `${core}?dryRun=All`, { metadata: { name: 'new', labels: { team: 'red' } } }],
  'cluster role': [
    'POST',
    '/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All',
    { metadata: { name: 'a' }, rules: [] },
  ],
  'deletion of a namespace': ['DELETE', `${core}/blue?dryRun=All`, undefined],
} as const;
type Write = keyof typeof writes;

const rule = (changes: object): object => ({
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['*'],
  resources: ['serviceaccounts'],
  ...changes,
});
const everything = rule({ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] });

async function deniedWrites(matchConstraints: object): Promise<Write[]> {
  const end = await server.enforce('validating', {
    matchConstraints,
    validations: [{ expression: 'false', message: 'no' }],
  });
  try {
    const found: Write[] = [];
    for (const [name, [method, path, body]] of Object.entries(writes)) {
      const { status, body: answer } = await server.request(method, path, body);
      if (status === 422 && answer.message?.includes('denied request: no')) found.push(name as Write);
      else expect([name, status]).toEqual([name, method === 'DELETE' ? 200 : 201]);
    }
    return found;
  } finally {
    await end();
  }
}

const all = Object.keys(writes) as Write[];
const allExcept = (...left: Write[]): Write[] => all.filter((name) => !left.includes(name));

describe('a policy matches', () => {
  test.each<[string, object, Write[]]>([
    ['everything', { resourceRules: [everything] }, all],
    ['one resource', { resourceRules: [rule({})] }, ['account', 'blue account']],
    ['all resources of a group', { resourceRules: [rule({ resources: ['*'] })] }, allExcept('cluster role')],
    [
      'all resources of a group, in its own versions alone',
      { matchPolicy: 'Exact', resourceRules: [rule({ resources: ['*'] })] },
      allExcept('cluster role', 'new event'),
    ],
    [
      'all resources of another group',
      { resourceRules: [rule({ apiGroups: ['rbac.authorization.k8s.io'], resources: ['*'] })] },
      ['cluster role'],
    ],
    ['no other version', { resourceRules: [rule({ apiVersions: ['v2'] })] }, []],
    ['several groups', { resourceRules: [rule({ apiGroups: ['a', ''] })] }, ['account', 'blue account']],
    [
      'an operation',
      { resourceRules: [rule({ operations: ['DELETE'], resources: ['*'] })] },
      ['deletion of a namespace'],
    ],
    ['operations', { resourceRules: [rule({ operations: ['UPDATE', 'CREATE'] })] }, ['account', 'blue account']],
    [
      'namespaced objects',
      { resourceRules: [{ ...everything, scope: 'Namespaced' }] },
      ['account', 'blue account', 'event', 'new event'],
    ],
    [
      'cluster-scoped objects, including namespaces',
      { resourceRules: [{ ...everything, scope: 'Cluster' }] },
      ['namespace', 'cluster role', 'deletion of a namespace'],
    ],
    ['no subresource', { resourceRules: [rule({ resources: ['serviceaccounts/token'] })] }, []],
    ['equivalent resources', { resourceRules: [rule({ resources: ['events'] })] }, ['event', 'new event']],
    [
      'equivalent resources in the other direction',
      { resourceRules: [rule({ apiGroups: ['events.k8s.io'], resources: ['events'] })] },
      ['event', 'new event'],
    ],
    [
      'only the exact resource',
      { matchPolicy: 'Exact', resourceRules: [rule({ apiGroups: ['events.k8s.io'], resources: ['events'] })] },
      ['new event'],
    ],
    ['names', { resourceRules: [rule({ resourceNames: ['b', 'x'] })] }, ['blue account']],
    [
      'resources that are not excluded',
      { resourceRules: [everything], excludeResourceRules: [rule({ resources: ['events', 'namespaces'] })] },
      ['account', 'blue account', 'cluster role'],
    ],
    [
      'resources that are not excluded by an exact rule',
      { matchPolicy: 'Exact', resourceRules: [everything], excludeResourceRules: [rule({ resources: ['events'] })] },
      allExcept('event'),
    ],
    [
      'objects in namespaces with a label, and cluster-scoped objects',
      { resourceRules: [everything], namespaceSelector: { matchLabels: { team: 'red' } } },
      allExcept('blue account', 'deletion of a namespace'),
    ],
    [
      'a namespace by its name',
      { resourceRules: [rule({})], namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'blue' } } },
      ['blue account'],
    ],
    [
      'namespaces by an expression',
      {
        resourceRules: [rule({})],
        namespaceSelector: { matchExpressions: [{ key: 'team', operator: 'NotIn', values: ['red'] }] },
      },
      ['blue account'],
    ],
    [
      'objects with a label',
      { resourceRules: [everything], objectSelector: { matchLabels: { app: 'web' } } },
      ['account'],
    ],
    [
      'objects without a label',
      { resourceRules: [rule({})], objectSelector: { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] } },
      ['blue account'],
    ],
  ])('%s', async (_, constraints, expected) => {
    expect(await deniedWrites(constraints)).toEqual(expected);
  });

  test.each<[string, object | undefined, Write[]]>([
    ['does not restrict it without matchResources', undefined, ['account', 'blue account']],
    ['narrows it by namespaces', { namespaceSelector: { matchLabels: { team: 'blue' } } }, ['blue account']],
    ['narrows it by rules', { resourceRules: [rule({ resourceNames: ['a'] })] }, ['account']],
    ['cannot widen it', { resourceRules: [everything] }, ['account', 'blue account']],
  ])('what its rules match; a binding %s', async (_, matchResources, expected) => {
    const end = await server.enforce(
      'validating',
      { validations: [{ expression: 'false' }] },
      matchResources && { matchResources },
    );
    const found: string[] = [];
    for (const [name, [method, path, body]] of Object.entries(writes))
      if ((await server.request(method, path, body)).status === 422) found.push(name);
    await end();
    expect(found).toEqual(expected);
  });

  test('no admission objects, so that a policy that locks everyone out can be removed', async () => {
    const end = await server.enforce('validating', {
      matchConstraints: { resourceRules: [everything] },
      validations: [{ expression: 'false' }],
    });
    expect((await server.request('POST', accounts('red'), { metadata: { name: 'x' } })).status).toBe(422);
    await end();
    expect((await server.request('POST', `${accounts('red')}?dryRun=All`, { metadata: { name: 'x' } })).status).toBe(
      201,
    );
  });

  test('updates by the labels of both objects', async () => {
    await server.request('POST', accounts('red'), { metadata: { name: 'labelled', labels: { app: 'api' } } });
    const one = `${accounts('red')}/labelled?dryRun=All`;
    const end = await server.enforce('validating', {
      matchConstraints: { resourceRules: [rule({})], objectSelector: { matchLabels: { app: 'api' } } },
      validations: [{ expression: 'false' }],
    });
    const merge = 'application/merge-patch+json';
    const statuses: number[] = [];
    for (const labels of [{ app: 'api' }, { app: null }])
      statuses.push(
        (await server.request('PATCH', one, { metadata: { labels, annotations: { a: 'b' } } }, merge)).status,
      );
    await end();
    expect(statuses).toEqual([422, 422]);
  });

  test('writes to a subresource by its name', async () => {
    const end = await server.enforce('validating', {
      matchConstraints: { resourceRules: [rule({ resources: ['namespaces/status'], operations: ['UPDATE'] })] },
      validations: [{ expression: 'false' }],
    });
    const body = { status: { conditions: [] } };
    const merge = 'application/merge-patch+json';
    expect((await server.request('PATCH', `${core}/red/status?dryRun=All`, body, merge)).status).toBe(422);
    const labelled = { metadata: { labels: { a: 'b' } } };
    expect((await server.request('PATCH', `${core}/red?dryRun=All`, labelled, merge)).status).toBe(200);
    await end();
  });
});
