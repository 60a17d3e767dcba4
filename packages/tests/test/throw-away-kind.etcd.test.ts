/**
 * A kind is one declaration. This test declares one that the server has never heard of, and does with it over HTTP
 * whatever can be done with the others.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import readline from 'node:readline';
import { kinds } from '@cluster-apiserver/kinds';
import {
  defineKind,
  jsonField,
  int32,
  invalidValue,
  type KubeObject,
  list,
  type ObjectOf,
  string,
} from '@cluster-apiserver/model';
import { until } from '../../base/test/until.ts';
import { type ServedKinds, serveKinds } from './serve-kinds.ts';

const fields = {
  color: jsonField(string, 'What light it gives.'),
  watts: jsonField(int32, 'What it takes.'),
  rooms: jsonField(list(string, 'set'), 'Where it shines.'),
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
  validate: ({ watts = 0 }) => (watts > 100 ? [invalidValue('watts', watts, 'blows the fuse')] : []),
  selectableFields: { color: ({ color }) => color ?? '' },
  unknownSelectorField: (name) => `lamps have no ${name}`,
});

let server: ServedKinds;
beforeAll(async () => {
  server = await serveKinds((services) => [...kinds(services), lamp]);
});
afterAll(() => server.close());

let run = 0;
/** The lamps of a namespace that nobody else uses. */
const freshLamps = (): string => `/apis/workshop.example/v1/namespaces/n${++run}/lamps`;
const draft = (name: string, fields: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: 'workshop.example/v1',
  kind: 'Lamp',
  metadata: { name, ...metadata },
  ...fields,
});

test('create, get, replace, patch and delete follow from the declaration', async () => {
  const lamps = freshLamps();
  const made = await server.ask('POST', lamps, draft('desk', { color: 'white', watts: 40, rooms: ['study'] }));
  expect(made).toMatchObject({ status: 201, body: { kind: 'Lamp', color: 'white', watts: 40, rooms: ['study'] } });
  expect((await server.ask('GET', `${lamps}/desk`)).body).toEqual(made.body);

  const replaced = await server.ask('PUT', `${lamps}/desk`, { ...made.body, color: 'red' });
  expect(replaced).toMatchObject({ status: 200, body: { color: 'red', watts: 40 } });
  const stale = await server.ask('PUT', `${lamps}/desk`, { ...made.body, color: 'blue' });
  expect(stale).toMatchObject({
    status: 409,
    body: { reason: 'Conflict', details: { group: 'workshop.example', kind: 'lamps' } },
  });

  const merged = await server.ask('PATCH', `${lamps}/desk`, { watts: 60, color: null }, 'application/merge-patch+json');
  expect(merged).toMatchObject({ status: 200, body: { watts: 60, rooms: ['study'] } });
  expect(merged.body).not.toHaveProperty('color');
  const added = await server.ask(
    'PATCH',
    `${lamps}/desk`,
    { rooms: ['hall'] },
    'application/strategic-merge-patch+json',
  );
  expect(added).toMatchObject({ status: 200, body: { watts: 60 } });
  expect(new Set(added.body.rooms as string[])).toEqual(new Set(['study', 'hall']));

  expect(await server.ask('DELETE', `${lamps}/desk`)).toMatchObject({ status: 200, body: { kind: 'Lamp', watts: 60 } });
  expect(await server.ask('GET', `${lamps}/desk`)).toMatchObject({
    status: 404,
    body: { message: 'lamps.workshop.example "desk" not found' },
  });
});

test('a body is decoded, pruned and validated by its schema and its rules', async () => {
  const lamps = freshLamps();
  const pruned = await server.ask('POST', lamps, draft('pruned', { shade: 'silk' }));
  expect(pruned).toMatchObject({ status: 201, warnings: [expect.stringContaining('unknown field \\"shade\\"')] });
  expect(pruned.body).not.toHaveProperty('shade');
  expect(await server.ask('POST', `${lamps}?fieldValidation=Strict`, draft('x', { shade: 'silk' }))).toMatchObject({
    status: 400,
  });
  expect(await server.ask('POST', lamps, draft('x', { watts: 'many' }))).toMatchObject({ status: 400 });
  expect(await server.ask('POST', lamps, draft('Not_A_Name', { watts: 1_000 }))).toMatchObject({
    status: 422,
    body: { details: { kind: 'Lamp', causes: [{ field: 'metadata.name' }, { field: 'watts' }] } },
  });
  const yaml = 'apiVersion: workshop.example/v1\nkind: Lamp\nmetadata:\n  name: from-yaml\nwatts: 5\n';
  expect(await server.ask('POST', lamps, yaml, 'application/yaml')).toMatchObject({ status: 201, body: { watts: 5 } });
  expect(await server.ask('POST', `${lamps}?dryRun=All`, draft('dry'))).toMatchObject({ status: 201 });
  expect(await server.ask('GET', `${lamps}/dry`)).toMatchObject({ status: 404 });
  const generated = await server.ask('POST', lamps, { ...draft(''), metadata: { generateName: 'lamp-' } });
  expect(generated.body.metadata.name).toMatch(/^lamp-[a-z0-9]{5}$/);
});

test('each writer owns the fields that it set', async () => {
  const lamps = freshLamps();
  await server.ask('POST', `${lamps}?fieldManager=one`, draft('shared', { color: 'white' }));
  const { body } = await server.ask(
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

test('lists and deletes of a collection select by labels and by the fields that it declares', async () => {
  const lamps = freshLamps();
  const colors = ['red', 'green', 'red'];
  for (const [at, color] of colors.entries()) {
    await server.ask('POST', lamps, draft(`lamp-${at}`, { color }, { labels: { place: at === 0 ? 'hall' : 'study' } }));
  }
  const names = async (path: string): Promise<string[]> => {
    const { status, body } = await server.ask('GET', path);
    expect({ status, kind: body.kind }).toEqual({ status: 200, kind: 'LampList' });
    return (body.items ?? []).map(({ metadata }) => metadata.name ?? '');
  };
  expect(await names(lamps)).toEqual(['lamp-0', 'lamp-1', 'lamp-2']);
  expect(await names(`${lamps}?fieldSelector=color%3Dred`)).toEqual(['lamp-0', 'lamp-2']);
  expect(await names(`${lamps}?labelSelector=place%3Dhall`)).toEqual(['lamp-0']);
  expect(await names('/apis/workshop.example/v1/lamps?fieldSelector=color%3Dgreen')).toEqual(['lamp-1']);
  expect(await server.ask('GET', `${lamps}?fieldSelector=watts%3D1`)).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('lamps have no watts') },
  });
  expect(await server.ask('DELETE', `${lamps}?fieldSelector=color%3Dred`)).toMatchObject({ status: 200 });
  expect(await names(lamps)).toEqual(['lamp-1']);
});

test('a watch tells what happens', async () => {
  const lamps = freshLamps();
  const { body } = await server.ask('GET', lamps);
  const stream = await server.open('GET', `${lamps}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
  const seen: string[] = [];
  const lines = readline.createInterface({ input: stream });
  lines.on('line', (line) => {
    const { type, object } = JSON.parse(line) as { type: string; object: Lamp };
    seen.push(`${type} ${object.kind} ${object.metadata.name} ${object.color}`);
  });
  const { body: made } = await server.ask('POST', lamps, draft('watched', { color: 'white' }));
  await server.ask('PUT', `${lamps}/watched`, { ...made, color: 'red' });
  await server.ask('DELETE', `${lamps}/watched`);
  await until('the last of them', () => seen.length === 3 || undefined);
  expect(seen).toEqual(['ADDED Lamp watched white', 'MODIFIED Lamp watched red', 'DELETED Lamp watched red']);
  lines.close();
  stream.destroy();
});

test('clients are told of it, and how it is formed', async () => {
  const apis = (await server.ask('GET', '/apis')).body;
  expect(apis.groups).toContainEqual(
    expect.objectContaining({ name: 'workshop.example', preferredVersion: expect.objectContaining({ version: 'v1' }) }),
  );
  const { resources } = (await server.ask('GET', '/apis/workshop.example/v1')).body;
  expect(resources).toMatchObject([{ name: 'lamps', singularName: 'lamp', kind: 'Lamp', namespaced: true }]);
  const { components } = (await server.ask('GET', '/openapi/v3/apis/workshop.example/v1')).body;
  expect(components).toMatchObject({
    schemas: {
      'example.workshop.v1.Lamp': {
        description: 'Gives light.',
        properties: { rooms: { description: 'Where it shines.', 'x-kubernetes-list-type': 'set' } },
      },
    },
  });
});

test('it owns and is owned like the others', async () => {
  const lamps = freshLamps();
  const { body: owner } = await server.ask('POST', lamps, draft('owner'));
  const { name, uid } = owner.metadata;
  const ownerReferences = [{ apiVersion: 'workshop.example/v1', kind: 'Lamp', name, uid }];
  const namespace = owner.metadata.namespace ?? '';
  const account = { metadata: { name: 'of-a-lamp', ownerReferences } };
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  expect(await server.ask('POST', accounts, account)).toMatchObject({ status: 201 });
  expect(await server.ask('POST', lamps, draft('owned', {}, { ownerReferences }))).toMatchObject({ status: 201 });
  await server.ask('DELETE', `${lamps}/owner?propagationPolicy=Foreground`);
  for (const path of [`${lamps}/owner`, `${lamps}/owned`, `${accounts}/of-a-lamp`]) {
    await until(`the end of ${path}`, async () => (await server.ask('GET', path)).status === 404 || undefined);
  }
});

test.each([
  ['PATCH', '', 405],
  ['POST', '/some', 405],
  ['GET', '/some/status', 404],
  ['GET', '/some/more/than/there-is', 404],
])('%s of lamps%s is answered %i like for every kind', async (method, below, status) => {
  expect((await server.ask(method, `${freshLamps()}${below}`)).status).toBe(status);
});
