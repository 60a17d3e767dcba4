import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { openPolicyServer, type PolicyServer } from './policy-server.ts';

/** A mutating plugin that runs after the policies. */
let later: NonNullable<AdmissionPlugin['mutate']> = ({ object }) => object;
let server: PolicyServer;
beforeAll(async () => {
  server = await openPolicyServer({
    authorizer: { authorize: () => ({ verdict: 'allow' }) },
    laterPlugins: [{ name: 'Later', mutate: (context) => later(context) }],
  });
  for (const name of ['a', 'b']) await server.request('POST', '/api/v1/namespaces', { metadata: { name } });
  for (const name of ['one', 'two'])
    await server.request('POST', '/api/v1/namespaces/b/serviceaccounts', {
      metadata: { name, labels: { role: 'params' } },
    });
});
afterAll(async () => {
  expect(server.internalErrors).toEqual([]);
  await server.close();
});
let ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends) await end();
  ends = [];
  later = ({ object }) => object;
});
const enforce = async (spec: object, binding?: object): Promise<void> =>
  void ends.push(await server.enforce('mutating', spec, binding));

const apply = (expression: string): object => ({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } });
const patch = (expression: string): object => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
const label = (key: string, value: string): object =>
  apply(`Object{metadata: Object.metadata{labels: {"${key}": ${value}}}}`);

const owner = { apiVersion: 'v1', kind: 'Namespace', name: 'a', uid: 'u-1' };
const original = {
  metadata: { name: 'new', labels: { app: 'web' }, finalizers: ['e.com/a'], ownerReferences: [owner] },
  secrets: [{ name: 's' }],
  automountServiceAccountToken: true,
};
const create = (object: object = original): Promise<JsonResponse> =>
  server.request('POST', '/api/v1/namespaces/a/serviceaccounts?dryRun=All', object);
/** The parts of the object that mutations change, or the error. */
const outcomeOf = ({ status, body }: JsonResponse): unknown => {
  if (status >= 300) return `${status} ${body.reason} ${(body.message ?? '').replace(/^.*?denied request: /s, '')}`;
  const { labels, annotations, finalizers, ownerReferences } = body.metadata;
  const { secrets, automountServiceAccountToken: automount } = body;
  return { labels, annotations, finalizers, ownerReferences, secrets, automount };
};
const unchanged = {
  labels: { app: 'web' },
  annotations: undefined,
  finalizers: ['e.com/a'],
  ownerReferences: [owner],
  secrets: [{ name: 's' }],
  automount: true,
};

describe('an apply configuration', () => {
  test.each<[string, string, unknown]>([
    ['sets a field', 'Object{automountServiceAccountToken: false}', { automount: false }],
    ['adds to a map', 'Object{metadata: Object.metadata{labels: {"a": "b"}}}', { labels: { app: 'web', a: 'b' } }],
    ['replaces in a map', 'Object{metadata: Object.metadata{labels: {"app": "api"}}}', { labels: { app: 'api' } }],
    ['makes a map', 'Object{metadata: Object.metadata{annotations: {"a": "b"}}}', { annotations: { a: 'b' } }],
    [
      'adds a new element to a set',
      'Object{metadata: Object.metadata{finalizers: ["e.com/b", "e.com/a"]}}',
      { finalizers: ['e.com/a', 'e.com/b'] },
    ],
    [
      'reads the object',
      'Object{metadata: Object.metadata{labels: {"of": object.metadata.name}}}',
      { labels: { app: 'web', of: 'new' } },
    ],
    ['omits optional fields', 'Object{?automountServiceAccountToken: optional.none()}', {}],
    ['changes nothing', 'Object{}', {}],
  ])('%s', async (_, expression, expected) => {
    await enforce({ mutations: [apply(expression)] });
    expect(outcomeOf(await create())).toEqual({ ...unchanged, ...(expected as object) });
  });

  const typed = 'error applying patch: failed to convert patch object to typed object:';
  test.each<[string, string, string]>([
    ['of an unknown field', 'Object{nothing: 1}', `${typed} .nothing: field not declared in schema`],
    [
      'of a wrong type',
      'Object{automountServiceAccountToken: "no"}',
      `${typed} .automountServiceAccountToken: expected boolean, got &{no}`,
    ],
    [
      'of an atomic list',
      'Object{secrets: [Object.secrets{name: "t"}]}',
      'error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .secrets[0]',
    ],
    [
      'of a list entry without its key',
      'Object{secrets: [Object.secrets{namespace: "t"}]}',
      `${typed} .secrets: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)`,
    ],
    [
      'with a duplicate element',
      'Object{metadata: Object.metadata{finalizers: ["e.com/b", "e.com/b"]}}',
      `${typed} .metadata.finalizers: duplicate entries for key [="e.com/b"]`,
    ],
    [
      'of a type of another field',
      'Object{metadata: Object.secrets{name: "b"}}',
      `expression 'Object{metadata: Object.secrets{name: "b"}}' resulted in error: type mismatch: unexpected type name "Object.secrets", expected "Object.metadata", which matches field name path from root Object type`,
    ],
    [
      'that fails',
      'Object{metadata: Object.metadata{labels: {"a": object.nothing}}}',
      `expression 'Object{metadata: Object.metadata{labels: {"a": object.nothing}}}' resulted in error: no such key: nothing`,
    ],
  ])('%s is refused', async (_, expression, expected) => {
    await enforce({ mutations: [apply(expression)] });
    expect(outcomeOf(await create())).toBe(`403 Invalid ${expected}`);
    for (const end of ends) await end();
    ends = [];
    await enforce({ mutations: [apply(expression)], failurePolicy: 'Ignore' });
    expect(outcomeOf(await create())).toEqual(unchanged);
  });
});

describe('a JSON patch', () => {
  test.each<[string, string, unknown]>([
    ['adds', '[JSONPatch{op: "add", path: "/metadata/labels/a", value: "b"}]', { labels: { app: 'web', a: 'b' } }],
    [
      'adds objects and lists',
      '[JSONPatch{op: "add", path: "/secrets/-", value: Object.secrets{name: "t"}}, JSONPatch{op: "add", path: "/metadata/annotations", value: {"a": "b"}}]',
      { secrets: [{ name: 's' }, { name: 't' }], annotations: { a: 'b' } },
    ],
    [
      'adds a list of objects',
      '[JSONPatch{op: "replace", path: "/secrets", value: [Object.secrets{name: "t"}, Object.secrets{name: "u"}]}]',
      { secrets: [{ name: 't' }, { name: 'u' }] },
    ],
    ['removes', '[JSONPatch{op: "remove", path: "/secrets"}]', { secrets: undefined }],
    [
      'replaces',
      '[JSONPatch{op: "replace", path: "/automountServiceAccountToken", value: false}]',
      { automount: false },
    ],
    [
      'moves and copies',
      '[JSONPatch{op: "copy", from: "/metadata/labels/app", path: "/metadata/labels/b"}, JSONPatch{op: "move", from: "/metadata/labels/app", path: "/metadata/labels/c"}]',
      { labels: { b: 'web', c: 'web' } },
    ],
    [
      'continues after a successful test',
      '[JSONPatch{op: "test", path: "/metadata/labels/app", value: "web"}, JSONPatch{op: "remove", path: "/secrets"}]',
      { secrets: undefined },
    ],
    [
      'is skipped after a failed test',
      '[JSONPatch{op: "remove", path: "/secrets"}, JSONPatch{op: "test", path: "/metadata/labels/app", value: "api"}]',
      {},
    ],
    [
      'escapes keys',
      '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("e.com/a"), value: "b"}]',
      { labels: { app: 'web', 'e.com/a': 'b' } },
    ],
  ])('%s', async (_, expression, expected) => {
    await enforce({ mutations: [patch(expression)] });
    expect(outcomeOf(await create())).toEqual({ ...unchanged, ...(expected as object) });
  });

  test.each<[string, string]>([
    ['of a missing path', '[JSONPatch{op: "remove", path: "/nothing/at/all"}]'],
    ['of an unknown operation', '[JSONPatch{op: "change", path: "/secrets"}]'],
    ['that makes a field the wrong type', '[JSONPatch{op: "replace", path: "/secrets", value: "none"}]'],
  ])('%s is rejected, or ignored', async (_, expression) => {
    await enforce({ mutations: [patch(expression)] });
    expect(outcomeOf(await create())).toMatch(/^403 Invalid /);
    for (const end of ends) await end();
    ends = [];
    await enforce({ mutations: [patch(expression)], failurePolicy: 'Ignore' });
    expect(outcomeOf(await create())).toEqual(unchanged);
  });
});

describe('policies', () => {
  const count = (key: string): object => label(key, `string(int(object.metadata.labels[?"${key}"].orValue("0")) + 1)`);
  const copies = label('seen', '(object.metadata.labels[?"late"].orValue("no"))');

  test('are applied in the order of their names, each to the result of the previous', async () => {
    await enforce({ mutations: [label('a', '"1"')] });
    await enforce({ mutations: [label('b', 'object.metadata.labels["a"] + "2"')] });
    expect(outcomeOf(await create())).toMatchObject({ labels: { a: '1', b: '12' } });
  });

  test('are applied once for each binding and parameter', async () => {
    await enforce(
      {
        paramKind: { apiVersion: 'v1', kind: 'ServiceAccount' },
        mutations: [
          patch('[JSONPatch{op: "add", path: "/metadata/labels/" + string(params.metadata.name), value: "x"}]'),
        ],
      },
      { paramRef: { namespace: 'b', selector: { matchLabels: { role: 'params' } }, parameterNotFoundAction: 'Deny' } },
    );
    expect(outcomeOf(await create())).toMatchObject({ labels: { one: 'x', two: 'x' } });
  });

  test.each<[string, string, object]>([
    ['a later policy changed the object', 'IfNeeded', { seen: 'yes' }],
    ['never with reinvocationPolicy Never', 'Never', { seen: 'no' }],
  ])('are reinvoked: %s', async (_, reinvocationPolicy, expected) => {
    await enforce({ reinvocationPolicy, mutations: [copies] });
    await enforce({ mutations: [label('late', '"yes"')] });
    expect(outcomeOf(await create())).toMatchObject({ labels: expected });
  });

  test.each<[string, string, string]>([
    ['IfNeeded', 'yes', '2'],
    ['Never', 'no', '1'],
  ])('with reinvocationPolicy %s see the changes of a later plugin', async (reinvocationPolicy, seen, times) => {
    later = ({ object }) =>
      object && { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, late: 'yes' } } };
    await enforce({ reinvocationPolicy, mutations: [copies, count('times')] });
    expect(outcomeOf(await create())).toMatchObject({ labels: { seen, times } });
  });

  test('are applied if their conditions are true, and report failing conditions', async () => {
    const matchConditions = [{ name: 'c', expression: 'object.metadata.name != "new"' }];
    await enforce({ matchConditions, mutations: [label('a', '"1"')] });
    expect(outcomeOf(await create())).toEqual(unchanged);
    await enforce({
      matchConditions: [{ name: 'c', expression: 'object.nothing == 1' }],
      mutations: [label('a', '"1"')],
    });
    expect(outcomeOf(await create())).toBe(
      "403 Invalid expression 'object.nothing == 1' resulted in error: no such key: nothing",
    );
  });

  test('that fail are reported together, the first by its name', async () => {
    const failing = { mutations: [apply('Object{nothing: 1}')] };
    await enforce(failing);
    await enforce({ ...failing, paramKind: { apiVersion: 'example.com/v1', kind: 'Limit' } });
    await enforce({ ...failing, failurePolicy: 'Ignore' });
    const { status, body } = await create();
    expect([status, body.reason, body.details?.causes?.length]).toEqual([403, 'Forbidden', 2]);
    expect(body.message).toMatch(
      /^policy "p\d+" denied request: failed to configure policy: failed to find resource referenced by paramKind/,
    );
  });

  test('change an update without changing its field manager', async () => {
    const path = '/api/v1/namespaces/a/serviceaccounts';
    await server.request('POST', path, { metadata: { name: 'updated' } });
    await enforce({ mutations: [label('a', '"1"')] });
    const merge = 'application/merge-patch+json';
    const { body } = await server.request('PATCH', `${path}/updated`, { metadata: { annotations: { b: 'c' } } }, merge);
    expect(body.metadata.labels).toEqual({ a: '1' });
    expect((await server.request('GET', `${path}/updated`)).body.metadata.labels).toEqual({ a: '1' });
  });

  test('see events in the version of their rules, and both versions show the changes', async () => {
    const path = 'namespaces/a/events';
    const rules = [
      { apiGroups: ['events.k8s.io'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['events'] },
    ];
    await enforce({
      matchConstraints: { resourceRules: rules },
      mutations: [apply('Object{note: object.note + "!", reportingController: "e.com/p"}')],
    });
    const event = { metadata: { name: 'e' }, involvedObject: { namespace: 'a', name: 'x' }, message: 'hello' };
    const created = await server.request('POST', `/api/v1/${path}`, event);
    expect([created.status, created.body['message'], created.body['reportingComponent']]).toEqual([
      201,
      'hello!',
      'e.com/p',
    ]);
    expect((await server.request('GET', `/apis/events.k8s.io/v1/${path}/e`)).body['note']).toBe('hello!');
  });

  test('cannot change the namespace of an object', async () => {
    const path = '/api/v1/namespaces/a/serviceaccounts';
    await server.request('POST', path, { metadata: { name: 'stays' } });
    await enforce({ mutations: [apply('Object{metadata: Object.metadata{name: "moved"}}')] });
    const merge = 'application/merge-patch+json';
    const { status, body } = await server.request(
      'PATCH',
      `${path}/stays`,
      { metadata: { labels: { a: 'b' } } },
      merge,
    );
    expect([status, body.details?.causes]).toEqual([
      422,
      [expect.objectContaining({ field: 'metadata.name' }), expect.objectContaining({ field: 'metadata.name' })],
    ]);
  });

  test('with endless expressions are aborted', async () => {
    const digits = '[0,1,2,3,4,5,6,7,8,9]';
    const endless = `${Array.from({ length: 7 }, (_, i) => `${digits}.all(x${i}, `).join('')}true${')'.repeat(7)}`;
    await enforce({ mutations: [apply(`${endless} ? Object{} : Object{}`)] });
    expect(outcomeOf(await create())).toMatch(/^403 Invalid .*cost/s);
  });
});
