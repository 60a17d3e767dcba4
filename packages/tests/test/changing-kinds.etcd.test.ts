/** Kinds that come, change and go while the server runs and other requests go on. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import readline from 'node:readline';
import v8 from 'node:v8';
import vm from 'node:vm';
import { kinds } from '@cluster-apiserver/kinds';
import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { jsonField, int32, string } from '@cluster-apiserver/model/schema';
import { until } from '@cluster-apiserver/testkit/until';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type TestServer, serveKinds } from './serve-kinds.ts';

const color = { color: jsonField(string, 'What light it gives.') };

/** Each test has a kind of its own, stored as custom resources are. */
const lampOf = (group: string, fields: Parameters<typeof defineKind>[0]['fields'] = color): Kind =>
  defineKind({
    group,
    version: 'v1',
    kind: 'Lamp',
    plural: 'lamps',
    singular: 'lamp',
    description: 'Gives light.',
    fields,
    deletedAnswer: 'object',
    storage: { prefix: `${group}/lamps` },
  });

let server: TestServer;
/** Requests that go on all the time. */
let isOver = false;
let load: Promise<readonly number[]>;
beforeAll(async () => {
  server = await serveKinds(kinds);
  load = others();
});
afterAll(async () => {
  isOver = true;
  expect(new Set(await load)).toEqual(new Set([200]));
  await server.close();
});

async function others(): Promise<readonly number[]> {
  const statuses: number[] = [];
  while (!isOver) {
    for (const path of ['/api/v1/serviceaccounts', '/apis', '/openapi/v3'])
      statuses.push((await server.request('GET', path)).status);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return statuses;
}

const get = (path: string): Promise<JsonResponse> => server.request('GET', path);
const create = (path: string, object: object): Promise<JsonResponse> => server.request('POST', path, object);
const statusOf = (path: string): Promise<number> => server.statusOf('GET', path);
const etagOf = async (path: string): Promise<unknown> => {
  const response = await server.open('GET', path);
  response.resume();
  return response.headers.etag;
};
const hashesOf = async (): Promise<Record<string, unknown>> =>
  ((await get('/openapi/v3')).body as unknown as { readonly paths: Record<string, unknown> }).paths;
const groupsOf = async (): Promise<string[]> =>
  ((await get('/apis')).body as unknown as { readonly groups: { readonly name: string }[] }).groups.map(
    ({ name }) => name,
  );
const root = async (): Promise<string[]> => ((await get('/')).body as unknown as { readonly paths: string[] }).paths;
const lampsIn = (group: string, namespace = 'default'): string => `/apis/${group}/v1/namespaces/${namespace}/lamps`;
const lamp = (name: string, fields: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  ...fields,
});

/** The lines of a watch, until it ends. */
async function watchOf(path: string): Promise<{ response: IncomingMessage; lines: string[]; ended: Promise<unknown> }> {
  const response = await server.open('GET', `${path}?watch=true`);
  const lines: string[] = [];
  readline.createInterface({ input: response }).on('line', (line) => lines.push(line));
  return { response, lines, ended: once(response, 'end') };
}

test('a kind that comes is served, discovered and documented; the documents of others stay', async () => {
  const group = 'comes.example';
  const kind = lampOf(group);
  expect(await statusOf(`/apis/${group}/v1/lamps`)).toBe(404);
  const [apis, core] = [await etagOf('/apis'), await etagOf('/api/v1')];
  const before = await hashesOf();
  expect(await root()).not.toContain(`/apis/${group}/v1`);

  await server.api.add(kind);
  expect(await create(lampsIn(group), lamp('desk', { color: 'white' }))).toMatchObject({ status: 201 });
  expect((await get(`/apis/${group}/v1/lamps`)).body).toMatchObject({ items: [{ color: 'white' }] });
  expect(await groupsOf()).toContain(group);
  expect((await get(`/apis/${group}/v1`)).body).toMatchObject({ resources: [{ name: 'lamps' }] });
  expect(await root()).toContain(`/apis/${group}/v1`);
  expect(await etagOf('/apis')).not.toBe(apis);
  expect(await etagOf('/api/v1')).toBe(core);
  const path = `apis/${group}/v1`;
  const { [path]: added, ...rest } = await hashesOf();
  expect(added).toBeDefined();
  expect(rest).toEqual(before);
  expect((await get('/openapi/v2')).body).toHaveProperty(['paths', `/${path}/lamps`]);

  server.api.remove(kind);
  expect(await statusOf(`/apis/${group}/v1/lamps`)).toBe(404);
  expect(await groupsOf()).not.toContain(group);
  expect(await etagOf('/apis')).toBe(apis);
  expect(await hashesOf()).toEqual(before);
  expect((await get('/openapi/v2')).body).not.toHaveProperty(['paths', `/${path}/lamps`]);
  expect(await statusOf(`/openapi/v3/${path}`)).toBe(404);
});

test('a kind that another replica serves is found as soon as this one has caught up', async () => {
  const kind = lampOf('late.example');
  const asked: string[] = [];
  server.api.catchUp = async ({ group, plural }) => {
    asked.push(`${plural}.${group}`);
    if (group === 'late.example') await server.api.add(kind);
  };
  try {
    expect(await create(lampsIn('late.example'), lamp('desk'))).toMatchObject({ status: 201 });
    expect((await get(lampsIn('late.example'))).status).toBe(200);
    expect(await statusOf(lampsIn('never.example'))).toBe(404);
    expect(await statusOf('/api/v1/namespaces/default/lamps')).toBe(404);
    expect(asked).toEqual(['lamps.late.example', 'lamps.never.example']);
  } finally {
    server.api.catchUp = undefined;
    server.api.remove(kind);
  }
});

test('the objects of a kind that goes are there when it comes back', async () => {
  const kind = lampOf('back.example');
  await server.api.add(kind);
  const { body } = await create(lampsIn('back.example'), lamp('kept'));
  server.api.remove(kind);
  await server.api.add(lampOf('back.example'));
  expect((await get(`${lampsIn('back.example')}/kept`)).body).toEqual(body);
  server.api.remove(kind);
});

test('watches go on when their kind changes, and end without an error when it goes', async () => {
  const group = 'ends.example';
  await server.api.add(lampOf(group));
  const watch = await watchOf(lampsIn(group));
  await create(lampsIn(group), lamp('seen'));
  await until('the event', () => watch.lines.length === 1 || undefined);

  const replaced = lampOf(group, { ...color, watts: jsonField(int32, 'What it takes.') });
  await server.api.replace(replaced);
  const patch = ['PATCH', `${lampsIn(group)}/seen`, { watts: 7 }, 'application/merge-patch+json'] as const;
  expect((await server.request(...patch)).body).toMatchObject({ watts: 7 });
  expect((await get(`/openapi/v3/apis/${group}/v1`)).body).toMatchObject({
    components: { schemas: { 'example.ends.v1.Lamp': { properties: { watts: {} } } } },
  });
  await until('the change', () => watch.lines.length === 2 || undefined);
  expect(watch.lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    { type: 'ADDED' },
    { type: 'MODIFIED', object: { watts: 7 } },
  ]);

  server.api.remove(replaced);
  await watch.ended;
  expect(watch.lines).toHaveLength(2);
});

test('objects that were stored in another version are read in the new one, and written in it', async () => {
  const group = 'stored.example';
  const named = {
    group,
    kind: 'Lamp',
    plural: 'lamps',
    singular: 'lamp',
    description: '',
    storage: { prefix: 'lamps-stored' },
  };
  const other = { group, selectableFields: {}, validate: () => {} };
  const [hue, shade] = [{ hue: jsonField(string, '') }, { shade: jsonField(string, '') }];
  const v1 = { ...other, version: 'v1', fields: hue, renamed: { hue: 'shade' } };
  const v2 = { ...other, version: 'v2', fields: shade, renamed: { shade: 'hue' } };
  await server.api.add(defineKind({ ...named, version: 'v1', fields: hue, otherVersions: [v2] }));
  await create(lampsIn(group), lamp('old', { hue: 'red' }));

  const kind = defineKind({ ...named, version: 'v2', fields: shade, otherVersions: [v1] });
  // Requests wait while the objects are loaded again.
  const asked: Promise<JsonResponse>[] = [];
  const replaceWhileAsked = async (by: Kind): Promise<void> => {
    const replaced = server.api.replace(by);
    while (!server.api.isLoading) await Promise.resolve();
    asked.push(...Array.from({ length: 20 }, () => get(lampsIn(group))));
    await replaced;
  };
  for (let round = 0; round < 10; round++) {
    await replaceWhileAsked(kind);
    await replaceWhileAsked(defineKind({ ...named, version: 'v1', fields: hue, otherVersions: [v2] }));
  }
  expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([200]));
  await server.api.replace(kind);
  const inV2 = lampsIn(group).replace('/v1/', '/v2/');
  expect((await get(`${inV2}/old`)).body).toMatchObject({ apiVersion: `${group}/v2`, shade: 'red' });
  expect((await get(lampsIn(group))).body).toMatchObject({ apiVersion: `${group}/v1`, items: [{ hue: 'red' }] });
  const unchanged = await server.request('PATCH', `${inV2}/old`, {}, 'application/merge-patch+json');
  expect(unchanged.body).toMatchObject({ apiVersion: `${group}/v2`, shade: 'red' });
  server.api.remove(kind);
  const onlyV2 = defineKind({ ...named, version: 'v2', fields: shade });
  await server.api.add(onlyV2);
  expect((await get(`${inV2}/old`)).body).toMatchObject({ apiVersion: `${group}/v2`, shade: 'red' });
  expect(await statusOf(lampsIn(group))).toBe(404);
  server.api.remove(onlyV2);
});

test('a kind that is removed or replaced while it is loaded is not served', async () => {
  const kind = lampOf('hasty.example');
  const added = server.api.add(kind);
  server.api.remove(kind);
  await expect(added).rejects.toThrow('no longer served');
  expect(server.api.isLoading).toBe(false);
  const first = server.api.add(kind);
  const again = lampOf('hasty.example', {});
  const second = server.api.replace(again);
  await expect(first).rejects.toThrow('no longer served');
  await second;
  expect(server.api.byPath('hasty.example', 'v1', 'lamps')?.kind).toBe(again);
  await expect(server.api.add(lampOf('hasty.example'))).rejects.toThrow('served already');
  server.api.remove(again);
});

test('the garbage collector treats owners and dependents of a kind as present until the kind is served', async () => {
  const group = 'owners.example';
  const kind = lampOf(group);
  await server.api.add(kind);
  const ownedBy = ({ body: { metadata } }: JsonResponse, more: object = {}): object => ({
    ownerReferences: [{ apiVersion: `${group}/v1`, kind: 'Lamp', name: metadata.name, uid: metadata.uid, ...more }],
  });
  const owner = await create(lampsIn(group), lamp('owner'));
  const absent = await create(lampsIn(group), lamp('absent'));
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  expect(await create(accounts, lamp('of-owner', {}, ownedBy(owner)))).toMatchObject({ status: 201 });
  expect((await server.request('DELETE', `${lampsIn(group)}/owner`)).status).toBe(200);
  await until(
    'the dependent of a deleted owner is deleted',
    async () => (await get(`${accounts}/of-owner`)).status === 404 || undefined,
  );

  server.api.remove(kind);
  expect(await create(accounts, lamp('of-unknown', {}, ownedBy(absent)))).toMatchObject({ status: 201 });
  // The collector works: an account of another owner that is gone is collected, this one is not.
  const gone = await create(accounts, lamp('gone'));
  await server.request('DELETE', `${accounts}/gone`);
  const ofAccount = { apiVersion: 'v1', kind: 'ServiceAccount', name: 'gone', uid: gone.body.metadata.uid };
  await create(accounts, lamp('of-gone', {}, { ownerReferences: [ofAccount] }));
  await until('the collector has passed', async () => (await get(`${accounts}/of-gone`)).status === 404 || undefined);
  expect((await get(`${accounts}/of-unknown`)).status).toBe(200);

  await server.api.add(kind);
  expect((await get(`${accounts}/of-unknown`)).status).toBe(200);
  await server.request('DELETE', `${lampsIn(group)}/absent`);
  await until('it is collected, too', async () => (await get(`${accounts}/of-unknown`)).status === 404 || undefined);
  server.api.remove(kind);
});

test('the deletion of a namespace deletes objects of a kind that came later', async () => {
  const group = 'drained.example';
  const kind = lampOf(group);
  await server.api.add(kind);
  const path = lampsIn(group, 'drained');
  expect(await create(path, lamp('left', {}, { finalizers: ['example.com/held'] }))).toMatchObject({ status: 201 });
  await server.request('DELETE', '/api/v1/namespaces/drained');
  await until('it is marked', async () => (await get(`${path}/left`)).body.metadata.deletionTimestamp);
  expect((await get('/api/v1/namespaces/drained')).body).toMatchObject({ status: { phase: 'Terminating' } });
  const unheld = { metadata: { finalizers: null } };
  await server.request('PATCH', `${path}/left`, unheld, 'application/merge-patch+json');
  await until(
    'the namespace is gone',
    async () => (await get('/api/v1/namespaces/drained')).status === 404 || undefined,
  );
  server.api.remove(kind);
});

test('a policy finds its parameters once their kind is served, and fails closed before and after', async () => {
  const group = 'params.example';
  const kind = lampOf(group);
  const registration = '/apis/admissionregistration.k8s.io/v1';
  const policy = {
    metadata: { name: 'dark' },
    spec: {
      paramKind: { apiVersion: `${group}/v1`, kind: 'Lamp' },
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'params' } },
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'] },
        ],
      },
      validations: [{ expression: 'object.metadata.name != params.color' }],
    },
  };
  const paramRef = { name: 'desk', namespace: 'default', parameterNotFoundAction: 'Deny' };
  const binding = {
    metadata: { name: 'dark' },
    spec: { policyName: 'dark', paramRef, validationActions: ['Deny'] },
  };
  await create('/api/v1/namespaces', { metadata: { name: 'params' } });
  expect(await create(`${registration}/validatingadmissionpolicies`, policy)).toMatchObject({ status: 201 });
  expect(await create(`${registration}/validatingadmissionpolicybindings`, binding)).toMatchObject({ status: 201 });
  const dryRun = (name: string): Promise<JsonResponse> =>
    create('/api/v1/namespaces/params/serviceaccounts?dryRun=All', lamp(name));
  const unknown = { status: 422, body: { message: expect.stringContaining('failed to find resource') } };
  expect(await dryRun('blue')).toMatchObject(unknown);
  await server.api.add(kind);
  await create(lampsIn(group), lamp('desk', { color: 'red' }));
  expect(await dryRun('blue')).toMatchObject({ status: 201 });
  expect(await dryRun('red')).toMatchObject({ status: 422 });
  server.api.remove(kind);
  expect(await dryRun('blue')).toMatchObject(unknown);
  for (const plural of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
    expect((await server.request('DELETE', `${registration}/${plural}/dark`)).status).toBe(200);
});

v8.setFlagsFromString('--expose-gc');
const collectGarbage: () => void = vm.runInNewContext('gc');
const heapBytes = (): number => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};
const seriesOf = async (group: string): Promise<string[]> =>
  (await server.metricsPage()).split('\n').filter((line) => line.includes(group));

const rounds = 1_000;
/** Of each round. A kind that stayed would take five times as much; V8 and the other requests grow, too. */
const keptBytesMax = 7_000;

test('kinds that came and went leave no memory and no series', async () => {
  const group = 'rounds.example';
  const round = async (at: number, isUsed = at % 100 === 0): Promise<void> => {
    const kind = lampOf(`r${at}.${group}`);
    await server.api.add(kind);
    if (isUsed) {
      expect((await get(`/apis/r${at}.${group}/v1/lamps`)).status).toBe(200);
      expect(await seriesOf(`r${at}.${group}`)).not.toEqual([]);
    }
    server.api.remove(kind);
  };
  for (let at = 0; at < rounds / 10; at++) await round(at, at % 10 === 0);
  const before = heapBytes();
  for (let at = 0; at < rounds; at++) await round(at);
  const grown = heapBytes() - before;
  expect(await seriesOf(group)).toEqual([]);
  expect(grown / rounds).toBeLessThan(keptBytesMax);
}, 120_000);
