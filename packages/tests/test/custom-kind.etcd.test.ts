/**
 * A kind is one declaration. This test declares a kind that the server does not know and uses every API operation on
 * it.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import readline from 'node:readline';
import { kinds } from '@cluster-apiserver/kinds';
import { defineKind, type KubeObject, type ObjectOf } from '@cluster-apiserver/model/kind';
import { jsonField, int32, list, string } from '@cluster-apiserver/model/schema';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from './serve-kinds.ts';

const fields = {
  color: jsonField(string, 'What light it gives.'),
  watts: jsonField(int32, 'What it takes.'),
  locations: jsonField(list(string, 'set'), 'Where it shines.'),
};
type Lamp = ObjectOf<typeof fields>;

const lamp = defineKind({
  group: 'workshop.example',
  version: 'v1',
  kind: 'Lamp',
  plural: 'lamps',
  singular: 'lamp',
  description: 'Gives light.',
  fields,
  deletedAnswer: 'object',
  validate: ({ watts = 0 }, _, problems) => {
    if (watts > 100) problems.at('watts').invalid(watts, 'blows the fuse');
  },
  selectableFields: { color: ({ color }) => color ?? '' },
  unknownSelectorField: (name) => `lamps have no ${name}`,
});

let server: TestServer;
beforeAll(async () => {
  server = await serveKinds((services) => [...kinds(services), lamp]);
});
afterAll(() => server.close());

let run = 0;
/** The collection in a new namespace. */
const freshLamps = (): string => `/apis/workshop.example/v1/namespaces/n${++run}/lamps`;
const draft = (name: string, fields: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: 'workshop.example/v1',
  kind: 'Lamp',
  metadata: { name, ...metadata },
  ...fields,
});

test('create, get, replace, patch and delete follow from the declaration', async () => {
  const lamps = freshLamps();
  const made = await server.request('POST', lamps, draft('desk', { color: 'white', watts: 40, locations: ['study'] }));
  expect(made).toMatchObject({ status: 201, body: { kind: 'Lamp', color: 'white', watts: 40, locations: ['study'] } });
  expect((await server.request('GET', `${lamps}/desk`)).body).toEqual(made.body);

  const replaced = await server.request('PUT', `${lamps}/desk`, { ...made.body, color: 'red' });
  expect(replaced).toMatchObject({ status: 200, body: { color: 'red', watts: 40 } });
  const stale = await server.request('PUT', `${lamps}/desk`, { ...made.body, color: 'blue' });
  expect(stale).toMatchObject({
    status: 409,
    body: { reason: 'Conflict', details: { group: 'workshop.example', kind: 'lamps' } },
  });

  const merged = await server.request(
    'PATCH',
    `${lamps}/desk`,
    { watts: 60, color: null },
    'application/merge-patch+json',
  );
  expect(merged).toMatchObject({ status: 200, body: { watts: 60, locations: ['study'] } });
  expect(merged.body).not.toHaveProperty('color');
  const added = await server.request(
    'PATCH',
    `${lamps}/desk`,
    { locations: ['hall'] },
    'application/strategic-merge-patch+json',
  );
  expect(added).toMatchObject({ status: 200, body: { watts: 60 } });
  expect(new Set(added.body.locations as string[])).toEqual(new Set(['study', 'hall']));

  expect(await server.request('DELETE', `${lamps}/desk`)).toMatchObject({
    status: 200,
    body: { kind: 'Lamp', watts: 60 },
  });
  expect(await server.request('GET', `${lamps}/desk`)).toMatchObject({
    status: 404,
    body: { message: 'lamps.workshop.example "desk" not found' },
  });
});

test('a body is decoded, pruned and validated by its schema and rules', async () => {
  const lamps = freshLamps();
  const pruned = await server.request('POST', lamps, draft('pruned', { shade: 'silk' }));
  expect(pruned).toMatchObject({ status: 201, warnings: [expect.stringContaining('unknown field \\"shade\\"')] });
  expect(pruned.body).not.toHaveProperty('shade');
  expect(await server.request('POST', `${lamps}?fieldValidation=Strict`, draft('x', { shade: 'silk' }))).toMatchObject({
    status: 400,
  });
  expect(await server.request('POST', lamps, draft('x', { watts: 'many' }))).toMatchObject({ status: 400 });
  expect(await server.request('POST', lamps, draft('Not_A_Name', { watts: 1_000 }))).toMatchObject({
    status: 422,
    body: { details: { kind: 'Lamp', causes: [{ field: 'metadata.name' }, { field: 'watts' }] } },
  });
  const yaml = 'apiVersion: workshop.example/v1\nkind: Lamp\nmetadata:\n  name: from-yaml\nwatts: 5\n';
  expect(await server.request('POST', lamps, yaml, 'application/yaml')).toMatchObject({
    status: 201,
    body: { watts: 5 },
  });
  expect(await server.request('POST', `${lamps}?dryRun=All`, draft('dry'))).toMatchObject({ status: 201 });
  expect(await server.request('GET', `${lamps}/dry`)).toMatchObject({ status: 404 });
  const generated = await server.request('POST', lamps, { ...draft(''), metadata: { generateName: 'lamp-' } });
  expect(generated.body.metadata.name).toMatch(/^lamp-[a-z0-9]{5}$/);
});

test('each field manager owns the fields that it set', async () => {
  const lamps = freshLamps();
  await server.request('POST', `${lamps}?fieldManager=one`, draft('shared', { color: 'white' }));
  const { body } = await server.request(
    'PATCH',
    `${lamps}/shared?fieldManager=two`,
    { watts: 7 },
    'application/merge-patch+json',
  );
  expect(body.metadata.managedFields).toMatchObject([
    { manager: 'one', fieldsV1: { 'f:color': {} } },
    { manager: 'two', fieldsV1: { 'f:watts': {} } },
  ]);
});

test('lists and collection deletes select by labels and by declared fields', async () => {
  const lamps = freshLamps();
  const colors = ['red', 'green', 'red'];
  for (const [at, color] of colors.entries()) {
    await server.request(
      'POST',
      lamps,
      draft(`lamp-${at}`, { color }, { labels: { place: at === 0 ? 'hall' : 'study' } }),
    );
  }
  const names = async (path: string): Promise<string[]> => {
    const { status, body } = await server.request('GET', path);
    expect({ status, kind: body.kind }).toEqual({ status: 200, kind: 'LampList' });
    return (body.items ?? []).map(({ metadata }) => metadata.name ?? '');
  };
  expect(await names(lamps)).toEqual(['lamp-0', 'lamp-1', 'lamp-2']);
  expect(await names(`${lamps}?fieldSelector=color%3Dred`)).toEqual(['lamp-0', 'lamp-2']);
  expect(await names(`${lamps}?labelSelector=place%3Dhall`)).toEqual(['lamp-0']);
  expect(await names('/apis/workshop.example/v1/lamps?fieldSelector=color%3Dgreen')).toEqual(['lamp-1']);
  expect(await server.request('GET', `${lamps}?fieldSelector=watts%3D1`)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('lamps have no watts') },
  });
  expect(await server.request('DELETE', `${lamps}?fieldSelector=color%3Dred`)).toMatchObject({ status: 200 });
  expect(await names(lamps)).toEqual(['lamp-1']);
});

test('a watch delivers changes', async () => {
  const lamps = freshLamps();
  const { body } = await server.request('GET', lamps);
  const stream = await server.open('GET', `${lamps}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
  const seen: string[] = [];
  const lines = readline.createInterface({ input: stream });
  lines.on('line', (line) => {
    const { type, object } = JSON.parse(line) as { type: string; object: Lamp };
    seen.push(`${type} ${object.kind} ${object.metadata.name} ${object.color}`);
  });
  const { body: made } = await server.request('POST', lamps, draft('watched', { color: 'white' }));
  await server.request('PUT', `${lamps}/watched`, { ...made, color: 'red' });
  await server.request('DELETE', `${lamps}/watched`);
  await until('the last event', () => seen.length === 3 || undefined);
  expect(seen).toEqual(['ADDED Lamp watched white', 'MODIFIED Lamp watched red', 'DELETED Lamp watched red']);
  lines.close();
  stream.destroy();
});

test('discovery and OpenAPI include it', async () => {
  const apis = (await server.request('GET', '/apis')).body;
  expect(apis.groups).toContainEqual(
    expect.objectContaining({ name: 'workshop.example', preferredVersion: expect.objectContaining({ version: 'v1' }) }),
  );
  const { resources } = (await server.request('GET', '/apis/workshop.example/v1')).body;
  expect(resources).toMatchObject([{ name: 'lamps', singularName: 'lamp', kind: 'Lamp', namespaced: true }]);
  const { components } = (await server.request('GET', '/openapi/v3/apis/workshop.example/v1')).body;
  expect(components).toMatchObject({
    schemas: {
      'example.workshop.v1.Lamp': {
        description: 'Gives light.',
        properties: { locations: { description: 'Where it shines.', 'x-kubernetes-list-type': 'set' } },
      },
    },
  });
});

test('garbage collection handles it as owner and dependent', async () => {
  const lamps = freshLamps();
  const { body: owner } = await server.request('POST', lamps, draft('owner'));
  const { name, uid } = owner.metadata;
  const ownerReferences = [{ apiVersion: 'workshop.example/v1', kind: 'Lamp', name, uid }];
  const namespace = owner.metadata.namespace ?? '';
  const account = { metadata: { name: 'of-a-lamp', ownerReferences } };
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  expect(await server.request('POST', accounts, account)).toMatchObject({ status: 201 });
  expect(await server.request('POST', lamps, draft('owned', {}, { ownerReferences }))).toMatchObject({ status: 201 });
  await server.request('DELETE', `${lamps}/owner?propagationPolicy=Foreground`);
  for (const path of [`${lamps}/owner`, `${lamps}/owned`, `${accounts}/of-a-lamp`]) {
    await until(`the end of ${path}`, async () => (await server.request('GET', path)).status === 404 || undefined);
  }
});

test.each([
  ['PATCH', '', 405],
  ['POST', '/some', 405],
  ['GET', '/some/status', 404],
  ['GET', '/some/more/than/there-is', 404],
])('%s of lamps%s gets status %i as for every kind', async (method, below, status) => {
  expect((await server.request(method, `${freshLamps()}${below}`)).status).toBe(status);
});
