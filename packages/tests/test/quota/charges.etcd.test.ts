/** Quotas with three replicas on one etcd: many writers at once never exceed them, and what is not stored is not charged. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { serveKinds, type TestServer } from '../serve-kinds.ts';

const merge = 'application/merge-patch+json';

let etcd: RealEtcd;
let servers: TestServer[];
beforeAll(async () => {
  etcd = await startEtcd();
  servers = [];
  for (let count = 0; count < 3; count++) servers.push(await serveKinds(kinds, { etcd }));
});
afterAll(async () => {
  for (const server of servers) await server.close();
  await etcd.stop();
});

const serverOf = (index: number): TestServer => servers[index % servers.length] as TestServer;
const within = (namespace: string, plural: string): string => `/api/v1/namespaces/${namespace}/${plural}`;

/** What a controller does with a new quota: the limits that are enforced, and what is used. */
async function limit(namespace: string, name: string, hard: Readonly<Record<string, string>>): Promise<void> {
  const quota = within(namespace, `resourcequotas/${name}`);
  await serverOf(0).request('POST', within(namespace, 'resourcequotas'), { metadata: { name }, spec: { hard } });
  const used = Object.fromEntries(Object.keys(hard).map((each) => [each, '0']));
  await serverOf(0).request('PATCH', `${quota}/status`, { status: { hard, used } }, merge);
  for (const server of servers)
    await until('every replica to know the quota', async () => {
      const { body } = await server.request('GET', `${quota}?resourceVersion=0`);
      return isDeepStrictEqual((body['status'] as Status | undefined)?.used, used) || undefined;
    });
}

const create = (through: number, namespace: string, plural: string, name: string): Promise<JsonResponse> =>
  serverOf(through).request('POST', within(namespace, plural), { metadata: { name } });

interface Status {
  readonly used?: Readonly<Record<string, string>>;
}

const used = async (namespace: string, name: string): Promise<Status | undefined> =>
  (await serverOf(0).request('GET', within(namespace, `resourcequotas/${name}`))).body['status'] as Status | undefined;

const countStored = async (namespace: string, plural: string): Promise<number> =>
  ((await serverOf(0).request('GET', within(namespace, plural))).body['items'] as readonly object[]).length;

test('of 200 writers at three replicas exactly as many succeed as there is room for', async () => {
  await limit('crowded', 'q', { 'count/configmaps': '70' });
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, index) => create(index, 'crowded', 'configmaps', `c${index}`)),
  );
  const countOf = (wanted: number): number => answers.filter(({ status }) => status === wanted).length;
  expect([countOf(201), countOf(403)]).toEqual([70, 130]);
  for (const { status, body } of answers)
    if (status === 403)
      expect(body['message']).toMatch(/ is forbidden: exceeded quota: q, requested: count\/configmaps=1, /);
  expect(await countStored('crowded', 'configmaps')).toBe(70);
  expect(await used('crowded', 'q')).toMatchObject({ used: { 'count/configmaps': '70' } });
});

test('writers of two kinds under two quotas exceed neither, and a refusal charges none', async () => {
  await limit('two', 'maps', { 'count/configmaps': '40', 'count/secrets': '1k' });
  await limit('two', 'both', { configmaps: '30', secrets: '25' });
  await Promise.all(
    Array.from({ length: 120 }, (_, index) =>
      create(index, 'two', index % 2 === 0 ? 'configmaps' : 'secrets', `o${index}`),
    ),
  );
  expect([await countStored('two', 'configmaps'), await countStored('two', 'secrets')]).toEqual([30, 25]);
  expect(await used('two', 'both')).toMatchObject({ used: { configmaps: '30', secrets: '25' } });
  expect(await used('two', 'maps')).toMatchObject({ used: { 'count/configmaps': '30', 'count/secrets': '25' } });
});

test('a creation that fails charges nothing', async () => {
  await limit('taken', 'q', { 'count/configmaps': '2' });
  expect((await create(0, 'taken', 'configmaps', 'a')).status).toBe(201);
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, index) => create(index, 'taken', 'configmaps', index % 2 === 0 ? 'a' : 'A')),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map((_, index) => (index % 2 === 0 ? 409 : 422)));
  expect(await used('taken', 'q')).toMatchObject({ used: { 'count/configmaps': '1' } });
  expect((await create(1, 'taken', 'configmaps', 'b')).status).toBe(201);
  expect((await create(2, 'taken', 'configmaps', 'c')).status).toBe(403);
});

test('of names of which half exist the others are stored, and charged alone', async () => {
  await limit('half', 'q', { 'count/configmaps': '1k' });
  for (let index = 0; index < 20; index += 2)
    expect((await create(index, 'half', 'configmaps', `c${index}`)).status).toBe(201);
  const answers = await Promise.all(
    Array.from({ length: 120 }, (_, index) => create(index % 7, 'half', 'configmaps', `c${index % 40}`)),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(30);
  expect(answers.filter(({ status }) => status === 409)).toHaveLength(90);
  expect(await countStored('half', 'configmaps')).toBe(40);
  expect(await used('half', 'q')).toMatchObject({ used: { 'count/configmaps': '40' } });
});

test('a quota that is reached among creations of one replica refuses exactly those beyond it', async () => {
  await limit('reached', 'q', { 'count/configmaps': '61', 'count/secrets': '7' });
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      create(0, 'reached', index % 5 === 0 ? 'secrets' : 'configmaps', `o${index}`),
    ),
  );
  const countOf = (plural: string, wanted: number): number =>
    answers.filter(({ status }, index) => status === wanted && (index % 5 === 0) === (plural === 'secrets')).length;
  expect([countOf('configmaps', 201), countOf('configmaps', 403)]).toEqual([61, 19]);
  expect([countOf('secrets', 201), countOf('secrets', 403)]).toEqual([7, 13]);
  expect(await used('reached', 'q')).toMatchObject({ used: { 'count/configmaps': '61', 'count/secrets': '7' } });
});

test('a namespace that changes meanwhile fails no creation', async () => {
  await limit('changing', 'q', { 'count/configmaps': '1k' });
  const label = async (value: number): Promise<void> => {
    const body = { metadata: { labels: { value: `${value}` } } };
    expect((await serverOf(value).request('PATCH', '/api/v1/namespaces/changing', body, merge)).status).toBe(200);
  };
  const answers = await Promise.all(
    Array.from({ length: 90 }, async (_, index) => {
      if (index % 9 === 0) await label(index);
      return create(index, 'changing', 'configmaps', `c${index}`);
    }),
  );
  expect(answers.filter(({ status }) => status !== 201)).toEqual([]);
  expect(await used('changing', 'q')).toMatchObject({ used: { 'count/configmaps': '90' } });
});

test('more quotas than a transaction can charge refuse a creation, and up to that all are charged', async () => {
  const hard = { 'count/configmaps': '1k' };
  const add = async (name: string): Promise<void> => {
    await serverOf(0).request('POST', within('many', 'resourcequotas'), { metadata: { name }, spec: { hard } });
    const status = { status: { hard, used: { 'count/configmaps': '0' } } };
    await serverOf(0).request('PATCH', within('many', `resourcequotas/${name}/status`), status, merge);
  };
  await Promise.all(Array.from({ length: 60 }, (_, index) => add(`q${index}`)));
  // A read from memory, which has caught up with all of them.
  expect(await used('many', 'q59')).toBeDefined();
  await Promise.all(
    Array.from({ length: 70 }, async (_, index) =>
      expect((await create(0, 'many', 'configmaps', `c${index}`)).status).toBe(201),
    ),
  );
  for (const name of ['q0', 'q59'])
    expect(await used('many', name)).toMatchObject({ used: { 'count/configmaps': '70' } });
  await add('one-more');
  const { status, body } = await create(0, 'many', 'configmaps', 'last');
  expect(status).toBe(403);
  expect(body['message']).toMatch(/ is forbidden: 61 quotas of the namespace count it, and at most 60 may$/);
});

test('a PUT that creates is charged, one that updates is not, and neither is a dry run', async () => {
  await limit('put', 'q', { 'count/leases.coordination.k8s.io': '1' });
  const lease = '/apis/coordination.k8s.io/v1/namespaces/put/leases/a';
  const put = (query: string, version?: string): Promise<JsonResponse> =>
    serverOf(1).request('PUT', `${lease}${query}`, {
      metadata: { name: 'a', ...(version && { resourceVersion: version }) },
      spec: { holderIdentity: String(version) },
    });
  const count = { used: { 'count/leases.coordination.k8s.io': '0' } };
  expect((await put('?dryRun=All')).status).toBe(201);
  expect(await used('put', 'q')).toMatchObject(count);
  const { status, body } = await put('');
  expect(status).toBe(201);
  const version = (body['metadata'] as { readonly resourceVersion: string }).resourceVersion;
  expect((await put('', version)).status).toBe(200);
  expect(await used('put', 'q')).toMatchObject({ used: { 'count/leases.coordination.k8s.io': '1' } });
});
