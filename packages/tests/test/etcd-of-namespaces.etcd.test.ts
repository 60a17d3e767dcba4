/** What other kinds depend on is in an etcd of its own: namespaces, definitions, roles and Leases. Two replicas. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { allKeys, putRaw, readChanges } from '@cluster-apiserver/testkit/etcd-gateway';
import { until } from '@cluster-apiserver/testkit/until';
import { lampDefinition } from './custom-sample.ts';
import { serveKinds, type TestServer } from './serve-kinds.ts';

const slowTestMs = 60_000;
const all = '/api/v1/namespaces';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const lampsIn = (namespace: string): string => `/apis/workshop.example/v1/namespaces/${namespace}/lamps`;
const held = [
  '/namespaces',
  'apiextensions.k8s.io/customresourcedefinitions',
  'rbac.authorization.k8s.io/clusterroles',
  'coordination.k8s.io/leases',
];

const cleanup = new CleanupStack();
let main: RealEtcd;
let own: RealEtcd;
let one: TestServer;
let other: TestServer;
beforeAll(async () => {
  [main, own] = await Promise.all([startEtcd(), startEtcd()]);
  for (const etcd of [main, own]) cleanup.defer('etcd', () => etcd.stop());
  const urls = own.endpoints.join(';');
  const serve = async (): Promise<TestServer> => {
    const server = await serveKinds(kinds, {
      etcd: main,
      flags: [
        `--etcd-servers-overrides=${held.map((kind) => `${kind}#${urls}`).join()}`,
        '--etcd-compaction-interval=1s',
      ],
    });
    cleanup.defer('server', () => server.close());
    return server;
  };
  one = await serve();
  other = await serve();
}, slowTestMs);
afterAll(() => cleanup.close(), slowTestMs);

const untilStatus = (path: string, wanted: number): Promise<true> =>
  until(`${path} answers ${wanted}`, async () => {
    const found = await Promise.all([one, other].map((server) => server.statusOf('GET', path)));
    return found.every((status) => status === wanted) || undefined;
  });
const keysOf = async (etcd: RealEtcd): Promise<readonly string[]> => allKeys(etcd.endpoints[0] ?? '');

test('they are stored there, and replicas know each other', async () => {
  const resources = new Set((await keysOf(own)).map((key) => key.split('/', 3)[2]));
  for (const resource of ['namespaces', 'clusterroles', 'leases']) expect(resources).toContain(resource);
  await until('both Leases', async () => {
    const { body } = await one.request('GET', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases');
    return body.items?.length === 2 || undefined;
  });
  expect((await keysOf(main)).filter((key) => /^\/registry\/(namespaces|clusterroles|leases)\//.test(key))).toEqual([]);
});

test('a namespace is provisioned there, and its deletion takes the objects of the other etcd along', async () => {
  expect(await one.statusOf('POST', `${all}/team/serviceaccounts`, { metadata: { name: 'robot' } })).toBe(201);
  await untilStatus(`${all}/team`, 200);
  const { uid } = (await one.request('GET', `${all}/team`)).body.metadata;
  await one.request('DELETE', `${all}/team`);
  await untilStatus(`${all}/team`, 404);
  const keys = await keysOf(main);
  expect(keys.filter((key) => key.startsWith('/registry/serviceaccounts/team/'))).toEqual([]);
  expect(keys).toContain(`/registry/.own/ended/${uid}`);
  // Another one of this name is not the one that was ended.
  expect(await other.statusOf('POST', `${all}/team/serviceaccounts`, { metadata: { name: 'robot' } })).toBe(201);
});

test('a quota counts objects whose namespace is in the other etcd, and they need it, too', async () => {
  const hard = { 'count/configmaps': '2' };
  await one.request('POST', `${all}/limited/resourcequotas`, { metadata: { name: 'maps' }, spec: { hard } });
  const used = async (count: number): Promise<void> => {
    // As both replicas have it in memory, which decides whether a quota counts at all.
    for (const server of [one, other])
      await until(`${count} to be counted`, async () => {
        const { body } = await server.request('GET', `${all}/limited/resourcequotas/maps?resourceVersion=0`);
        const status = body['status'] as { readonly used?: Readonly<Record<string, string>> } | undefined;
        return status?.used?.['count/configmaps'] === String(count) || undefined;
      });
  };
  const create = (server: TestServer, name: string): Promise<number> =>
    server.statusOf('POST', `${all}/limited/configmaps`, { metadata: { name } });
  await used(0);
  expect([await create(one, 'a'), await create(other, 'b')]).toEqual([201, 201]);
  await used(2);
  expect([await create(one, 'c'), await create(other, 'd')]).toEqual([403, 403]);
  await one.request('DELETE', `${all}/limited/configmaps/a`);
  await used(1);
  // As the leader does it when the namespace is deleted, which this replica does not know yet.
  const { uid } = (await one.request('GET', `${all}/limited`)).body.metadata;
  await putRaw(main.endpoints[0] ?? '', `/registry/.own/ended/${uid}`, Buffer.from('{}'));
  expect(await create(one, 'e')).toBe(503);
});

test('a definition there is served by both, and its deletion takes its objects in the other etcd along', async () => {
  await one.request('POST', definitions, lampDefinition);
  await until('the condition', async () => {
    const { body } = await one.request('GET', `${definitions}/${lampDefinition.metadata.name}`);
    return JSON.stringify(body['status']).includes('"type":"Established"') || undefined;
  });
  const lamp = { apiVersion: 'workshop.example/v1', kind: 'Lamp', metadata: { name: 'a' }, spec: { color: 'red' } };
  expect(await other.statusOf('POST', lampsIn('lit'), lamp)).toBe(201);
  expect((await keysOf(main)).filter((key) => key.includes('/lamps/'))).toEqual([
    '/registry/workshop.example/lamps/lit/a',
  ]);
  await one.request('DELETE', `${definitions}/${lampDefinition.metadata.name}`);
  await untilStatus(`${definitions}/${lampDefinition.metadata.name}`, 404);
  expect((await keysOf(main)).filter((key) => key.includes('/lamps/'))).toEqual([]);
});

test('a role there and a binding in the other etcd grant something together', async () => {
  const group = 'rbac.authorization.k8s.io';
  const review = async (server: TestServer): Promise<unknown> => {
    const { body } = await server.request('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: 'reader', resourceAttributes: { verb: 'get', resource: 'configmaps', namespace: 'a', name: 'b' } },
    });
    return (body['status'] as { readonly allowed?: boolean }).allowed;
  };
  expect(await review(one)).toBe(false);
  await one.request('POST', `/apis/${group}/v1/clusterroles`, {
    metadata: { name: 'reads' },
    rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
  });
  await one.request('POST', `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: 'reads' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'reads' },
    subjects: [{ apiGroup: group, kind: 'User', name: 'reader' }],
  });
  await until('the grant', async () => (await review(other)) === true || undefined);
});

test('the leader compacts the history of both', async () => {
  for (const etcd of [main, own])
    await until('a compaction', () =>
      readChanges(etcd.endpoints[0] ?? '', '/registry/').then(
        () => undefined,
        () => true,
      ),
    );
});
