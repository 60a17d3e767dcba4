/** What writes of custom objects leave behind, in versions that differ in their subresources. Each as kube-apiserver 1.36 does. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { until } from '@cluster-apiserver/testkit/until';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { serveKinds, type TestServer } from './serve-kinds.ts';

const group = 'workshop.example';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const lamps = (version: string): string => `/apis/${group}/${version}/lamps`;

const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more });
const text = { type: 'string' };
const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
const part = object({
  color: { ...text, default: 'white' },
  bulbs: { type: 'integer' },
  shade: object({ cloth: text }),
  tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  free,
  cable: { ...free, 'x-kubernetes-embedded-resource': true },
});
const schema = { openAPIV3Schema: object({ spec: part, status: part }) };
const scale = { specReplicasPath: '.spec.bulbs', statusReplicasPath: '.status.bulbs' };
const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `lamps.${group}` },
  spec: {
    group,
    scope: 'Cluster',
    names: { plural: 'lamps', kind: 'Lamp' },
    versions: [
      { name: 'v1', served: true, storage: true, schema },
      { name: 'v2', served: true, storage: false, schema, subresources: { status: {}, scale } },
    ],
  },
};

let server: TestServer;
beforeAll(async () => {
  server = await serveKinds((services) => kinds(services));
  await server.request('POST', definitions, definition);
  await until('both versions', async () => {
    const answers = await Promise.all(['v1', 'v2'].map((version) => server.open('GET', lamps(version))));
    for (const answer of answers) answer.resume();
    return answers.every(({ statusCode }) => statusCode === 200) || undefined;
  });
});
afterAll(() => server.close());

let run = 0;
let name = '';
beforeEach(() => {
  name = `lamp${++run}`;
});
const lamp = (version: string, fields: object): object => ({
  apiVersion: `${group}/${version}`,
  kind: 'Lamp',
  metadata: { name },
  ...fields,
});

const create = (version: string, fields: object): Promise<JsonResponse> =>
  server.request('POST', `${lamps(version)}?fieldManager=creator`, lamp(version, fields));
const apply = (version: string, fields: object, manager = 'applier', query = ''): Promise<JsonResponse> =>
  server.request(
    'PATCH',
    `${lamps(version)}/${name}?fieldManager=${manager}${query}`,
    lamp(version, fields),
    'application/apply-patch+yaml',
  );
const merge = (version: string, fields: object, path = ''): Promise<JsonResponse> =>
  server.request(
    'PATCH',
    `${lamps(version)}/${name}${path}?fieldManager=merger`,
    fields,
    'application/merge-patch+json',
  );

const ownedBy = ({ metadata }: KubeObject, manager: string): unknown =>
  metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1;

describe('A version with a status beside the stored version without one', () => {
  test('does not apply a status', async () => {
    const made = await apply('v2', { spec: { bulbs: 1 }, status: { bulbs: 1 } });
    expect(made).toMatchObject({ status: 201, body: { spec: { bulbs: 1 } } });
    expect(made.body).not.toHaveProperty('status');
    expect(ownedBy(made.body, 'applier')).toEqual({ 'f:spec': { 'f:bulbs': {} } });
    const stored = await apply('v1', { spec: { bulbs: 1 }, status: { bulbs: 2 } });
    expect(stored).toMatchObject({ status: 200, body: { status: { bulbs: 2 } } });
  });

  test('applies nothing but the status through the subresource', async () => {
    await create('v1', { spec: { bulbs: 1 } });
    const query = `${lamps('v2')}/${name}/status?fieldManager=applier`;
    const body = lamp('v2', { spec: { bulbs: 5 }, status: { bulbs: 2 } });
    const applied = await server.request('PATCH', query, body, 'application/apply-patch+yaml');
    expect(applied).toMatchObject({ status: 200, body: { spec: { bulbs: 1 }, status: { bulbs: 2 } } });
    expect(ownedBy(applied.body, 'applier')).toEqual({ 'f:status': { 'f:bulbs': {} } });
  });

  test('takes a status that embeds an incomplete resource, unlike a spec', async () => {
    await create('v1', { spec: {} });
    expect(await merge('v2', { status: { cable: { kind: 'Cable' } } }, '/status')).toMatchObject({
      status: 200,
      body: { status: { cable: { kind: 'Cable' } } },
    });
    expect(await merge('v2', { spec: { cable: { kind: 'Cable' } } })).toMatchObject({
      status: 422,
      body: {
        details: { causes: expect.arrayContaining([expect.objectContaining({ field: 'spec.cable.apiVersion' })]) },
      },
    });
  });
});

describe('A null that is applied', () => {
  test('leaves to others what they have put below it', async () => {
    await create('v1', { spec: { shade: { cloth: 'silk' }, tags: ['a'], free: { a: { b: 1 } } } });
    const applied = await apply('v1', { spec: { shade: null, tags: null, free: { a: null } } });
    expect(applied).toMatchObject({
      status: 200,
      body: { metadata: { generation: 1 }, spec: { shade: { cloth: 'silk' }, tags: ['a'], free: { a: { b: 1 } } } },
    });
    expect(ownedBy(applied.body, 'applier')).toEqual({
      'f:spec': { 'f:shade': {}, 'f:tags': {}, 'f:free': { 'f:a': {} } },
    });
  });

  test('is refused where there is nothing', async () => {
    expect((await apply('v1', { spec: { shade: null } })).status).toBe(422);
  });

  test('stands for the default, and a default that is not applied any more changes no generation', async () => {
    expect(await apply('v1', { spec: { color: null } })).toMatchObject({
      status: 201,
      body: { spec: { color: 'white' } },
    });
    expect(await apply('v1', { spec: {} })).toMatchObject({
      status: 200,
      body: { metadata: { generation: 1 }, spec: { color: 'white' } },
    });
  });
});

test('a merge patch leaves no null in the objects of a list', async () => {
  await create('v1', { spec: { free: { l: [] } } });
  const patched = await merge('v1', { spec: { free: { l: [{ a: null, b: 1 }, null] } } });
  expect(patched.body['spec']).toEqual({ color: 'white', free: { l: [{ b: 1 }, null] } });
});

test('a value of another type takes what is below it from its owner', async () => {
  await create('v1', { spec: { free: { a: { x: 1, y: 2 }, b: 'c' } } });
  const patched = await merge('v1', { spec: { free: { a: 1, b: { z: 1 } } } });
  expect(ownedBy(patched.body, 'merger')).toEqual({
    'f:spec': { 'f:free': { 'f:a': {}, 'f:b': { '.': {}, 'f:z': {} } } },
  });
  expect(ownedBy(patched.body, 'creator')).toEqual({ 'f:spec': { '.': {}, 'f:color': {}, 'f:free': {} } });
});

test.each(['Ignore', 'Warn', 'Strict'])(
  'an apply of a field without a schema is refused with %s',
  async (validation) => {
    const refused = await apply('v1', { spec: { none: 1 } }, 'applier', `&fieldValidation=${validation}`);
    const problem = '.spec.none: field not declared in schema';
    expect(refused).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(`Kind=Lamp\\): \\${problem}$`) },
    });
  },
);

describe('The scale', () => {
  test.each<[unknown, object]>([
    ['many', { status: 422, body: { details: { causes: [expect.objectContaining({ field: 'patch' })] } } }],
    [-1, { status: 422 }],
    [2, { status: 200, body: { kind: 'Scale', spec: { replicas: 2 } } }],
  ])('is patched to %j', async (replicas, answer) => {
    await create('v1', { spec: { bulbs: 1 } });
    expect(await merge('v2', { spec: { replicas } }, '/scale')).toMatchObject(answer);
  });

  test.each<[object, string]>([
    [{ bulbs: 1.5 }, '.spec.bulbs accessor error: 1.5 is of the type float64, expected int64'],
    [{ bulbs: true }, '.spec.bulbs accessor error: true is of the type bool, expected int64'],
    [['x'], '.spec.bulbs accessor error: ["x"] is of the type []interface {}, expected map[string]interface{}'],
  ])('refuses an object with %j', async (spec, problem) => {
    const refused = await create('v2', { spec });
    expect(refused).toMatchObject({ status: 422, body: { details: { causes: expect.anything() } } });
    expect(JSON.stringify(refused.body)).toContain(JSON.stringify(`Invalid value: 0: ${problem}`).slice(1, -1));
  });

  test.each([
    [0, [null, 0]],
    [2, [2, 0]],
  ])('of %i bulbs is a row', async (bulbs, cells) => {
    await create('v1', { spec: { bulbs } });
    const response = await requestHttps(`${server.url}${lamps('v2')}/${name}/scale`, {
      ca: server.certificate,
      token: server.token,
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    expect(JSON.parse(response.text)).toMatchObject({ rows: [{ cells: [name, ...cells, expect.any(String)] }] });
  });
});
