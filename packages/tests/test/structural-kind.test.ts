/** A kind with a structural schema, through every verb: what custom resources are made of. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiVersion, defineKind, type Kind, type KubeObject } from '@cluster-apiserver/model/kind';
import {
  int64,
  list,
  type ObjectSchema,
  string,
  structural,
  unstructured,
  validateParts,
  validateValue,
} from '@cluster-apiserver/model/schema';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type OpenPipeline, openPipeline } from '../../pipeline/test/open-pipeline.ts';

const port = structural([
  ['port', int64],
  ['protocol', { ...string, default: 'TCP' }],
]);
const spec = structural(
  [
    ['size', { ...int64, default: 1, rules: { maximum: { value: 9 } } }],
    ['text', { ...string, rules: { maxLength: 3 } }],
    ['ports', list(port, { keys: ['port', 'protocol'] })],
    ['tags', list(string, 'set')],
    ['free', unstructured],
  ],
  { rules: { required: ['text'] } },
);
const schema = structural(
  [
    ['spec', spec],
    ['status', unstructured],
  ],
  { isRoot: true, rest: unstructured },
) as ObjectSchema<KubeObject>;

function thingKind(): Kind {
  const declared = defineKind({
    group: 'structural.example',
    version: 'v1',
    kind: 'Thing',
    plural: 'things',
    singular: 'thing',
    description: 'For this test.',
    fields: {},
    fieldSubresources: [
      {
        name: 'status',
        verbs: ['get', 'patch', 'update'],
        fields: ['status'],
        givenOnCreate: false,
        keepsMetadata: true,
      },
    ],
    *validateInSteps(object, current, problems) {
      yield* validateValue(schema, object, current, problems);
      yield* validateParts(schema, object, current, problems);
    },
  });
  const versions: ApiVersion[] = [];
  const kind: Kind = { ...declared, schema, hasProtobuf: false, versions };
  versions.push(kind);
  return kind;
}

let api: OpenPipeline;
beforeAll(async () => {
  api = await openPipeline({ kinds: [thingKind()] });
});
afterAll(async () => {
  expect(api.reportedErrors).toEqual([]);
  await api.close();
});

const things = '/apis/structural.example/v1/namespaces/n/things';
const ask = (method: string, path: string, body?: object, type?: string): Promise<JsonResponse> =>
  api.askJson(method, things + path, body, type);
const thing = (name: string, fields: object): object => ({
  apiVersion: 'structural.example/v1',
  kind: 'Thing',
  metadata: { name },
  ...fields,
});
const apply = (name: string, manager: string, fields: object, query = ''): Promise<JsonResponse> =>
  ask('PATCH', `/${name}?fieldManager=${manager}${query}`, thing(name, fields), 'application/apply-patch+yaml');
const causes = ({ status, body }: JsonResponse): unknown[] => [
  status,
  ...(body.details?.causes ?? []).map(({ field, message }) => `${field}: ${message}`),
];

test('an object keeps what it was given, with defaults, and is the same when it is read', async () => {
  const created = await ask(
    'POST',
    '',
    thing('a', {
      zone: { b: 1, a: [] },
      spec: { text: '', tags: [], free: { x: null }, pruned: 1 },
      status: { no: 1 },
    }),
  );
  expect(created).toMatchObject({
    status: 201,
    body: { spec: { text: '', tags: [], free: { x: null }, size: 1 }, zone: { a: [], b: 1 } },
  });
  expect(created.body).not.toHaveProperty('status');
  expect(JSON.stringify(created.body)).toContain(
    '"spec":{"free":{"x":null},"size":1,"tags":[],"text":""},"zone":{"a":[],"b":1}}',
  );
  const read = await ask('GET', '/a');
  expect(JSON.stringify(read.body)).toBe(JSON.stringify(created.body));
  // The same object in another order of members is no change.
  const reversed = Object.fromEntries(Object.entries(read.body).toReversed());
  expect(JSON.stringify((await ask('PUT', '/a', reversed)).body)).toBe(JSON.stringify(read.body));
});

test('all errors of an object are answered at once', async () => {
  const answer = await ask(
    'POST',
    '',
    thing('b', { spec: { size: 'x', text: 7, tags: ['a', 'a', 1], ports: [{ port: '1' }] } }),
  );
  expect(causes(answer)).toEqual([
    422,
    'spec.ports[0].port: Invalid value: "string": spec.ports[0].port in body must be of type integer: "string"',
    'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
    'spec.tags[2]: Invalid value: "integer": spec.tags[2] in body must be of type string: "integer"',
    'spec.text: Invalid value: "integer": spec.text in body must be of type string: "integer"',
    'spec.tags[1]: Duplicate value: "a"',
  ]);
  expect(causes(await ask('POST', '', thing('b', { spec: { size: 10 } })))).toEqual([
    422,
    'spec.text: Required value',
    'spec.size: Invalid value: 10: spec.size in body should be less than or equal to 9',
  ]);
  expect((await ask('POST', '', thing('b', { metadata: { name: 'b', labels: { a: 1 } } }))).status).toBe(400);
});

test('patches and the status change their own parts', async () => {
  await ask('POST', '', thing('c', { spec: { text: 'x', free: { a: 1 } }, other: { a: 1 } }));
  const merge = 'application/merge-patch+json';
  expect((await ask('PATCH', '/c', { spec: { size: null, free: { b: null, c: [1] } } }, merge)).body['spec']).toEqual({
    free: { a: 1, c: [1] },
    size: 1,
    text: 'x',
  });
  const status = await ask(
    'PATCH',
    '/c/status',
    { status: { ready: [] }, spec: { text: 'no' }, other: { a: 2 } },
    merge,
  );
  expect(status).toMatchObject({ status: 200, body: { status: { ready: [] }, spec: { text: 'x' }, other: { a: 1 } } });
  expect(causes(await ask('PATCH', '/c', { spec: { text: 'long' } }, merge))).toEqual([
    422,
    'spec.text: Too long: may not be more than 3 bytes',
  ]);
  const json = [{ op: 'add', path: '/spec/ports', value: [{ port: 1 }] }];
  expect((await ask('PATCH', '/c', json, 'application/json-patch+json')).body['spec']).toMatchObject({
    ports: [{ port: 1, protocol: 'TCP' }],
  });
});

test('managers share an object by the keys of its lists, and by members where there is no schema', async () => {
  await apply('d', 'm1', { spec: { text: 'a', ports: [{ port: 1 }], free: { x: 1 } } });
  const second = await apply('d', 'm2', { spec: { ports: [{ port: 1, protocol: 'UDP' }], free: { y: 1 } } });
  expect(second.body['spec']).toEqual({
    free: { x: 1, y: 1 },
    ports: [
      { port: 1, protocol: 'TCP' },
      { port: 1, protocol: 'UDP' },
    ],
    size: 1,
    text: 'a',
  });
  expect(await apply('d', 'm2', { spec: { text: 'b', free: { x: 2 } } })).toMatchObject({ status: 409 });
  expect((await apply('d', 'm1', { spec: { text: 'a' } })).body['spec']).toEqual({
    free: { y: 1 },
    ports: [{ port: 1, protocol: 'UDP' }],
    size: 1,
    text: 'a',
  });
  expect(causes(await apply('d', 'm1', { spec: { text: null } }))).toEqual([
    422,
    'spec.text: Invalid value: "null": spec.text in body must be of type string: "null"',
  ]);
  expect(causes(await apply('d', 'm1', { spec: { text: 'a', ports: 'x' } }, '&force=true'))).toEqual([
    422,
    'spec.ports: Invalid value: "string": spec.ports in body must be of type array: "string"',
  ]);
});
