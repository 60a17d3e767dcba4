/** The status of quotas: what is in force and used, also while objects come and go at several replicas. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { serveKinds, type TestServer } from '../serve-kinds.ts';

let etcd: RealEtcd;
let servers: TestServer[];
beforeAll(async () => {
  etcd = await startEtcd();
  servers = [];
  for (let count = 0; count < 2; count++)
    servers.push(await serveKinds(kinds, { etcd, flags: ['--controllers=resourcequota-controller'] }));
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await etcd.stop();
});

const serverOf = (index: number): TestServer => servers[index % servers.length] as TestServer;
const within = (namespace: string, plural: string): string => `/api/v1/namespaces/${namespace}/${plural}`;
const merge = 'application/merge-patch+json';

const create = async (through: number, namespace: string, plural: string, name: string, spec?: object) =>
  (await serverOf(through).request('POST', within(namespace, plural), { metadata: { name }, ...(spec && { spec }) }))
    .status;

const statusOf = async (namespace: string): Promise<unknown> =>
  (await serverOf(0).request('GET', within(namespace, 'resourcequotas/q'))).body['status'];
const isCounted = (namespace: string, status: object): Promise<unknown> =>
  until(
    `the status ${JSON.stringify(status)}`,
    async () => isDeepStrictEqual(await statusOf(namespace), status) || undefined,
  );

test('a new quota counts what is there, and nothing that no kind counts', async () => {
  for (const name of ['a', 'b']) await create(0, 'found', 'configmaps', name);
  await create(0, 'found', 'secrets', 'a');
  const hard = { 'count/configmaps': '5k', configmaps: '3', secrets: '1', 'count/nothing.example.com': '1', pods: '2' };
  await create(0, 'found', 'resourcequotas', 'q', { hard });
  await isCounted('found', { hard, used: { configmaps: '2', 'count/configmaps': '2', pods: '0', secrets: '1' } });
  expect(await create(0, 'found', 'secrets', 'b')).toBe(403);
});

test('another limit comes into force, and a scope of pods counts nothing', async () => {
  await create(0, 'other', 'configmaps', 'a');
  await create(0, 'other', 'resourcequotas', 'q', { hard: { 'count/configmaps': '1' } });
  await isCounted('other', { hard: { 'count/configmaps': '1' }, used: { 'count/configmaps': '1' } });
  const quota = within('other', 'resourcequotas/q');
  await serverOf(0).request('PATCH', quota, { spec: { hard: { 'count/configmaps': '2' } } }, merge);
  await isCounted('other', { hard: { 'count/configmaps': '2' }, used: { 'count/configmaps': '1' } });
  await create(0, 'scoped', 'configmaps', 'a');
  await create(0, 'scoped', 'resourcequotas', 'q', { hard: { 'count/configmaps': '1' }, scopes: ['Terminating'] });
  await isCounted('scoped', { hard: { 'count/configmaps': '1' }, used: { 'count/configmaps': '0' } });
  expect(await create(0, 'scoped', 'configmaps', 'b')).toBe(201);
});

test('while objects come and go at two replicas there are never more than the quota allows', async () => {
  const most = 10;
  const used = (count: number) => ({
    hard: { 'count/configmaps': `${most}` },
    used: { 'count/configmaps': `${count}` },
  });
  await create(0, 'busy', 'resourcequotas', 'q', { hard: { 'count/configmaps': `${most}` } });
  await isCounted('busy', used(0));
  const stored: string[] = [];
  let created = 0;
  let refused = 0;
  const work = async (worker: number): Promise<void> => {
    for (let round = 0; round < 30; round++) {
      const name = `c-${worker}-${round}`;
      if ((await create(worker, 'busy', 'configmaps', name)) === 201) {
        created++;
        stored.push(name);
      } else refused++;
      const oldest = round % 2 === 0 ? stored.shift() : undefined;
      if (oldest !== undefined) await serverOf(worker).request('DELETE', within('busy', `configmaps/${oldest}`));
      const items = (await serverOf(worker).request('GET', within('busy', 'configmaps'))).body['items'];
      expect((items as readonly object[]).length).toBeLessThanOrEqual(most);
    }
  };
  await Promise.all(Array.from({ length: 12 }, (_, worker) => work(worker)));
  expect([created > most, refused > 0]).toEqual([true, true]);
  await isCounted('busy', used(stored.length));
});
