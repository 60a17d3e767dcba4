import { afterAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { serveKinds } from '../serve-kinds.ts';

const server = await serveKinds(kinds);
afterAll(() => server.close());

const entries = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['name'],
  items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
};
const properties = { some: { ...entries, minItems: 1 }, any: entries };
const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', properties } } };
const { status } = await server.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
  metadata: { name: 'lamps.workshop.example' },
  spec: {
    group: 'workshop.example',
    scope: 'Cluster',
    names: { plural: 'lamps', kind: 'Lamp' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
  },
});
if (status !== 201) throw new Error('the definition was refused');
const lamps = '/apis/workshop.example/v1/lamps';
await until('the kind', async () => (await server.statusOf('GET', lamps)) === 200 || undefined);

const apply = (name: string, spec: object) =>
  server.request(
    'PATCH',
    `${lamps}/${name}?fieldManager=test`,
    { apiVersion: 'workshop.example/v1', kind: 'Lamp', metadata: { name }, spec },
    'application/apply-patch+yaml',
  );

test('an applied list that is empty is there, as if it had been created', async () => {
  expect(await apply('desk', { any: [] })).toMatchObject({ status: 201, body: { spec: { any: [] } } });
  expect(await apply('wall', { some: [] })).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining('spec.some in body should have at least 1 items') },
  });
});

test('an applied list that is empty takes nothing from others', async () => {
  await server.request('POST', lamps, {
    apiVersion: 'workshop.example/v1',
    kind: 'Lamp',
    metadata: { name: 'floor' },
    spec: { any: [{ name: 'a' }] },
  });
  expect(await apply('floor', { any: [] })).toMatchObject({ status: 200, body: { spec: { any: [{ name: 'a' }] } } });
});
