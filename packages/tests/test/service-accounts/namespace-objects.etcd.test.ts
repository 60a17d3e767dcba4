/** The objects that each namespace has, with two replicas. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { serveKinds, type TestServer } from '../serve-kinds.ts';

const names = [
  'namespace-controller',
  'resourcequota-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
];

let etcd: RealEtcd;
let servers: TestServer[];
beforeAll(async () => {
  etcd = await startEtcd();
  servers = [];
  for (let count = 0; count < 2; count++)
    servers.push(
      await serveKinds(kinds, {
        etcd,
        flags: [`--controllers=${names.join(',')}`],
      }),
    );
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await etcd.stop();
});

const request = (...[method, path, body, type]: Parameters<TestServer['request']>) =>
  (servers[0] as TestServer).request(method, path, body, type);
const within = (namespace: string, path: string): string => `/api/v1/namespaces/${namespace}/${path}`;
const createNamespace = async (name: string): Promise<void> => {
  expect((await request('POST', '/api/v1/namespaces', { metadata: { name } })).status).toBe(201);
};
const untilGone = (path: string): Promise<true> =>
  until(`the end of ${path}`, async () => (await request('GET', path)).status === 404 || undefined);

const untilFound = (path: string, otherThan?: string) =>
  until(path, async () => {
    const { status, body } = await request('GET', path);
    return status === 200 && body.metadata.uid !== otherThan ? body : undefined;
  });

describe('the account default', () => {
  test('is in each namespace, also in one that a request provisions', async () => {
    await createNamespace('accounts');
    const { metadata, ...fields } = await untilFound(within('accounts', 'serviceaccounts/default'));
    expect(fields).toEqual({ kind: 'ServiceAccount', apiVersion: 'v1' });
    expect(Object.keys(metadata).toSorted()).toEqual([
      'creationTimestamp',
      'name',
      'namespace',
      'resourceVersion',
      'uid',
    ]);
    await request('POST', within('provisioned', 'configmaps'), { metadata: { name: 'a' } });
    await untilFound(within('provisioned', 'serviceaccounts/default'));
    for (const namespace of ['default', 'kube-system']) await untilFound(within(namespace, 'serviceaccounts/default'));
  });

  test('comes back when it is deleted', async () => {
    await createNamespace('again');
    const path = within('again', 'serviceaccounts/default');
    const { metadata } = await untilFound(path);
    await request('DELETE', path);
    await untilFound(path, metadata.uid);
  });

  test('ends with its namespace, which does not come back', async () => {
    for (let round = 0; round < 20; round++) {
      const path = `/api/v1/namespaces/short-${round}`;
      await createNamespace(`short-${round}`);
      if (round % 2 === 0) await untilFound(`${path}/serviceaccounts/default`);
      await request('DELETE', path);
    }
    for (let round = 0; round < 20; round++) await untilGone(`/api/v1/namespaces/short-${round}`);
    // An account that came late would have provisioned its namespace.
    await createNamespace('later');
    await untilFound(within('later', 'serviceaccounts/default'));
    const names = (await request('GET', '/api/v1/namespaces')).body.items?.map(({ metadata }) => metadata.name);
    expect(names?.filter((name) => name?.startsWith('short-'))).toEqual([]);
  });

  test('is charged to a quota', async () => {
    await createNamespace('counted');
    const account = within('counted', 'serviceaccounts/default');
    await untilFound(account);
    const quota = within('counted', 'resourcequotas/q');
    const hard = { 'count/serviceaccounts': '1' };
    const used = (count: string) =>
      until(`the use ${count}`, async () => {
        const { status } = (await request('GET', quota)).body as { status?: { used?: Record<string, string> } };
        return status?.used?.['count/serviceaccounts'] === count || undefined;
      });
    await request('POST', within('counted', 'resourcequotas'), { metadata: { name: 'q' }, spec: { hard } });
    await used('1');
    const refused = await request('POST', within('counted', 'serviceaccounts'), { metadata: { name: 'other' } });
    expect(refused.status).toBe(403);
    const { metadata } = await untilFound(account);
    await request('DELETE', account);
    await untilFound(account, metadata.uid);
    await used('1');
  });
});

describe('the root certificates', () => {
  const path = (namespace: string): string => within(namespace, 'configmaps/kube-root-ca.crt');
  const certificate = (): string => `${String((servers[0] as TestServer).certificate).trim()}\n`;
  const fieldsOf = (body: object) => body as { data?: Record<string, string>; metadata: KubeObject['metadata'] };
  const untilRepaired = (namespace: string) =>
    until(`the right content of ${path(namespace)}`, async () => {
      const { data, metadata } = fieldsOf((await request('GET', path(namespace))).body);
      const isRight = data?.['ca.crt'] === certificate() && Object.keys(data).length === 1;
      return isRight && metadata.annotations?.['kubernetes.io/description'] ? metadata : undefined;
    });

  test('are published in each namespace', async () => {
    await createNamespace('published');
    const { data, metadata } = fieldsOf(await untilFound(path('published')));
    // The test server has a self-signed certificate: it is its own root.
    expect(data).toEqual({ 'ca.crt': certificate() });
    expect(metadata.annotations).toEqual({
      'kubernetes.io/description': expect.stringMatching(/^Contains a CA bundle that can be used to verify/),
    });
  });

  test.each<[string, object]>([
    ['changed data', { data: { 'ca.crt': 'other', more: 'x' } }],
    ['a missing description', { metadata: { annotations: { 'kubernetes.io/description': null } } }],
    ['no data', { data: null }],
  ])('are repaired: %s', async (what, change) => {
    const namespace = what.replaceAll(' ', '-');
    await createNamespace(namespace);
    await untilFound(path(namespace));
    const merge = 'application/merge-patch+json';
    await request('PATCH', path(namespace), { metadata: { labels: { own: 'kept' } } }, merge);
    expect((await request('PATCH', path(namespace), change, merge)).status).toBe(200);
    expect((await untilRepaired(namespace)).labels).toEqual({ own: 'kept' });
  });

  test('keep another description, and come back when they are deleted', async () => {
    await createNamespace('described');
    const { metadata } = await untilFound(path('described'));
    const other = { metadata: { annotations: { 'kubernetes.io/description': 'other' } } };
    await request('PATCH', path('described'), other, 'application/merge-patch+json');
    await request('DELETE', path('described'));
    const { metadata: again } = await untilFound(path('described'), metadata.uid);
    expect(again.annotations?.['kubernetes.io/description']).toMatch(/^Contains/);
  });

  test('are those of the flag', async () => {
    const roots = certificate().repeat(2);
    const own = await serveKinds(kinds, {
      files: { roots },
      flags: ['--root-ca-file=roots', '--controllers=root-ca-certificate-publisher-controller'],
    });
    const published = await until('the ConfigMap', async () => {
      const { status, body } = await own.request('GET', path('default'));
      return status === 200 ? body : undefined;
    });
    await own.close();
    expect(fieldsOf(published).data).toEqual({ 'ca.crt': roots });
  });

  test('are not published, and no account is created, without the controllers', async () => {
    const without = await serveKinds(kinds, { flags: ['--controllers=namespace-controller'] });
    await without.request('POST', '/api/v1/namespaces', { metadata: { name: 'bare' } });
    await without.request('DELETE', '/api/v1/namespaces/bare');
    await until('the end of the namespace, which the leader deletes', async () => {
      const { status } = await without.request('GET', '/api/v1/namespaces/bare');
      return status === 404 || undefined;
    });
    for (const plural of ['configmaps', 'serviceaccounts'])
      expect((await without.request('GET', `/api/v1/${plural}`)).body.items).toEqual([]);
    await without.close();
  });
});
