import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { encodeProtobuf } from '@cluster-apiserver/model/codec';
import type { ObjectSchema } from '@cluster-apiserver/model/schema';
import { kinds } from '@cluster-apiserver/kinds';
import { type OpenPipeline, openPipeline } from '../../../pipeline/test/open-pipeline.ts';

/** Deeply nested values: the limit is reported, and the stack never overflows. */

const levels = 5_000;
const accounts = '/api/v1/namespaces/n/serviceaccounts';
const target = `${accounts}/x`;
const json = 'application/json';

let pipeline: OpenPipeline;
let schema: ObjectSchema;
beforeAll(async () => {
  const all = kinds({ eventLifetimeSeconds: 3_600 });
  schema = all.find(({ kind }) => kind === 'ServiceAccount')?.schema as ObjectSchema;
  pipeline = await openPipeline({ kinds: all });
});
afterAll(() => pipeline.close());
beforeEach(async () => {
  await pipeline.ask('DELETE', target);
  await pipeline.ask('POST', accounts, { body: Buffer.from(account('')), headers: { 'content-type': json } });
});

const account = (more: string, metadata = ''): string =>
  `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"x"${metadata && `,${metadata}`}}${more && `,${more}`}}`;
const owned = (fields: string): string =>
  `"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":${fields}}]`;

/** Values of a given depth. */
const shapes: Readonly<Record<string, (depth: number) => string>> = {
  lists: (depth) => '['.repeat(depth) + ']'.repeat(depth),
  'lists with a number that a double does not hold': (depth) =>
    `${'['.repeat(depth)}12345678901234567890${']'.repeat(depth)}`,
  'lists with half a character': (depth) => `${'['.repeat(depth)}"\\ud800"${']'.repeat(depth)}`,
  maps: (depth) => `${'{"f:a":'.repeat(depth)}{}${'}'.repeat(depth)}`,
};

/** Positions of the value in an object. */
const places: Readonly<Record<string, (value: string) => string>> = {
  'a field that no kind has': (value) => account(`"unknown":${value}`),
  'a list': (value) => account(`"secrets":${value}`),
  'the entry of a list': (value) => account(`"secrets":[${value}]`),
  'a map of strings': (value) => account('', `"annotations":{"a":${value}}`),
  'the metadata': (value) => `{"apiVersion":"v1","kind":"ServiceAccount","metadata":${value}}`,
  'the fields of a manager': (value) => account('', owned(value)),
};

const operation = (value: string, path: string): string => `[{"op":"add","path":"${path}","value":${value}}]`;

/** Requests that contain the object. */
const requests: Readonly<Record<string, readonly [method: string, path: string, type: string]>> = {
  POST: ['POST', `${accounts}?dryRun=All`, json],
  'POST of YAML': ['POST', `${accounts}?dryRun=All`, 'application/yaml'],
  PUT: ['PUT', target, json],
  'merge patch': ['PATCH', target, 'application/merge-patch+json'],
  'strategic merge patch': ['PATCH', target, 'application/strategic-merge-patch+json'],
  apply: ['PATCH', `${target}?fieldManager=m`, 'application/apply-patch+yaml'],
};

async function expectRefused(method: string, path: string, type: string, body: string | Uint8Array): Promise<string> {
  const response = await pipeline.ask(method, path, {
    body: Buffer.from(body as string),
    headers: { 'content-type': type },
  });
  expect(pipeline.reportedErrors).toEqual([]);
  const text = String(response.body);
  expect([400, 422, text.slice(0, 300)]).toContain(response.status);
  return text;
}

/** Whether the value is in an unknown field of a JSON object, which is dropped unread. */
const isDropped = (request: string, shape: string, place: string): boolean =>
  (request === 'POST' || request === 'PUT') &&
  ((shape === 'lists' && place === 'a field that no kind has') ||
    (shape === 'maps' && ['a field that no kind has', 'the entry of a list', 'the metadata'].includes(place)));

const cases = Object.keys(requests).flatMap((request) =>
  Object.keys(shapes).flatMap((shape) => Object.keys(places).map((place) => [request, shape, place] as const)),
);

test.each(cases.filter((names) => !isDropped(...names)))(
  '%s of deep %s in %s is rejected for its depth',
  async (request, shape, place) => {
    const [method, path, type] = requests[request] as (typeof requests)[string];
    const body = (places[place] as (typeof places)[string])((shapes[shape] as (typeof shapes)[string])(levels));
    const text = await expectRefused(method, path, type, body);
    expect(text).toMatch(/nested deeper than \d+ levels|maxDepth|nesting/);
  },
);

test.each(cases.filter((names) => isDropped(...names)))(
  '%s of deep %s in %s is treated like other unknown fields, up to 10,000 levels',
  async (request, shape, place) => {
    const [method, path, type] = requests[request] as (typeof requests)[string];
    const ask = async (depth: number, more: string): Promise<string> => {
      const body = (places[place] as (typeof places)[string])((shapes[shape] as (typeof shapes)[string])(depth));
      const headers = { 'content-type': type };
      const response = await pipeline.ask(method, `${path}${path.includes('?') ? '&' : '?'}${more}`, { body, headers });
      expect(pipeline.reportedErrors).toEqual([]);
      return String(response.body);
    };
    expect(await ask(levels, 'fieldValidation=Strict')).toMatch(/unknown field/);
    expect(await ask(levels, 'fieldValidation=Ignore')).not.toMatch(/nested deeper/);
    expect(await ask(10_001, 'fieldValidation=Ignore')).toMatch(/nested deeper than 10000 levels/);
  },
);

describe('a JSON patch', () => {
  test.each(Object.entries(shapes))('that adds deep %s is rejected for its depth', async (_, valueOf) => {
    for (const at of ['/unknown', '/secrets', '/metadata/managedFields/0/fieldsV1'])
      expect(
        await expectRefused('PATCH', target, 'application/json-patch+json', operation(valueOf(levels), at)),
      ).toMatch(/nested deeper than \d+ levels/);
  });

  const steps = 90;
  const inner = '/a'.repeat(steps);
  const nest = `${'{"a":'.repeat(steps)}{}${'}'.repeat(steps)}`;
  const moves = Array.from({ length: 1_000 }, (_, i) => [
    { op: 'add', path: `/y${i + 1}`, value: JSON.parse(nest) as unknown },
    { op: 'move', from: `/y${i}`, path: `/y${i + 1}${inner}` },
  ]).flat();
  const grown = [{ op: 'add', path: '/y0', value: {} }, ...moves.slice(0, 150)];
  test.each([
    ['moves', []],
    ['moves and copies', [{ op: 'copy', from: '/y75', path: '/z' }]],
    [
      'moves and tests',
      [
        { op: 'copy', from: '/y75', path: '/z' },
        { op: 'test', path: '/y75', value: {} },
      ],
    ],
    ['moves into managedFields', [{ op: 'move', from: '/y75', path: '/metadata/managedFields/0/fieldsV1' }]],
  ])('whose document grows deep by %s does not cause an internal error', async (_, more) => {
    const response = await pipeline.ask('PATCH', target, {
      body: Buffer.from(JSON.stringify([...grown, ...more])),
      headers: { 'content-type': 'application/json-patch+json' },
    });
    expect(pipeline.reportedErrors).toEqual([]);
    expect([200, 400, 422, String(response.body).slice(0, 300)]).toContain(response.status);
  });
});

test('managedFields in protobuf are rejected for their depth', async () => {
  const fieldsV1 = JSON.parse((shapes['maps'] as (depth: number) => string)(2_000)) as unknown;
  const entry = { manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1 };
  const body = encodeProtobuf(schema, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'x', managedFields: [entry] },
  } as never);
  const type = 'application/vnd.kubernetes.protobuf';
  for (const [method, path] of [
    ['PUT', target],
    ['POST', accounts],
  ] as const)
    expect(await expectRefused(method, path, type, body)).toMatch(/nested deeper than \d+ levels/);
});

test.each([
  [99, 'of values', 201],
  [101, 'of values', 422],
])('managedFields of %i levels %s', async (depth, _, status) => {
  await pipeline.ask('DELETE', target);
  const response = await pipeline.ask('POST', accounts, {
    body: Buffer.from(account('', owned((shapes['maps'] as (depth: number) => string)(depth)))),
    headers: { 'content-type': json },
  });
  expect(response.status).toBe(status);
  if (status === 422)
    expect(String(response.body)).toMatch(/managedFields\[0\]\.fieldsV1.*nested deeper than 100 levels/);
});
