/** A real webhook that converts the objects of a custom resource between its versions. */
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { text } from 'node:stream/consumers';
import { kinds } from '@cluster-apiserver/kinds';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { startHttpsServer } from '@cluster-apiserver/testkit/https-server';
import { until } from '@cluster-apiserver/testkit/until';
import { serveKinds } from '../serve-kinds.ts';

interface Shown {
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly [name: string]: unknown;
}
interface Review {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Shown[] };
}

const group = 'workshop.example';
const reviews: Review[] = [];
/** Changes the response. */
let spoil: (response: { readonly convertedObjects: readonly Shown[] }) => object;

/** Version v1 has watts, v2 has power. */
const renamed = (desired: string, { watts, power, ...rest }: Shown): Shown => ({
  ...rest,
  apiVersion: desired,
  ...(desired.endsWith('v2') ? { power: watts ?? power } : { watts: power ?? watts }),
});

const webhook = await startHttpsServer((request, response) => {
  void text(request).then((body) => {
    const review = JSON.parse(body) as Review;
    reviews.push(review);
    const { uid, desiredAPIVersion, objects } = review.request;
    const convertedObjects = objects.map((object) => renamed(desiredAPIVersion, object));
    const answer = { uid, result: { status: 'Success' }, convertedObjects };
    response.end(JSON.stringify({ ...review, request: undefined, response: { ...answer, ...spoil(answer) } }));
  });
});
const server = await serveKinds(kinds, { errorsExpected: true });
afterAll(async () => {
  await server.close();
  await webhook.stop();
});
beforeEach(() => {
  reviews.length = 0;
  spoil = () => ({});
});

const version = (name: string, field: string, storage: boolean): object => ({
  name,
  storage,
  served: true,
  subresources: {
    status: {},
    scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.on' },
  },
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {
        [field]: { type: 'integer', minimum: 1 },
        spec: { type: 'object', properties: { replicas: { type: 'integer' } } },
        status: { type: 'object', properties: { on: { type: 'integer' } } },
      },
    },
  },
});
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const definitionOf = (plural: string, kind: string, versions: readonly object[], reviewVersions = ['v1']) => ({
  metadata: { name: `${plural}.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind },
    versions,
    conversion: {
      strategy: 'Webhook',
      webhook: {
        clientConfig: {
          url: `${webhook.origin}/convert`,
          caBundle: Buffer.from(webhook.authority).toString('base64'),
        },
        conversionReviewVersions: reviewVersions,
      },
    },
  },
});
const untilEstablished = (plural: string): Promise<true> =>
  until(`${plural} are established`, async () => {
    const { body } = await server.request('GET', `${definitions}/${plural}.${group}`);
    return JSON.stringify(body).includes('"InitialNamesAccepted"') || undefined;
  });
const created = await server.request(
  'POST',
  definitions,
  definitionOf('lamps', 'Lamp', [version('v1', 'watts', true), version('v2', 'power', false)]),
);
if (created.status !== 201) throw new Error(JSON.stringify(created.body));
await untilEstablished('lamps');
const lamps = (of: string): string => `/apis/${group}/${of}/namespaces/default/lamps`;

const create = (of: string, name: string, content: object) =>
  server.request('POST', lamps(of), {
    apiVersion: `${group}/${of}`,
    kind: 'Lamp',
    metadata: { name, labels: { set: 'shown' } },
    ...content,
  });

test('writes and reads of another version are converted, those of the stored one are not', async () => {
  expect(await create('v2', 'desk', { power: 40 })).toMatchObject({ status: 201, body: { power: 40 } });
  expect(reviews[0]).toMatchObject({
    kind: 'ConversionReview',
    apiVersion: 'apiextensions.k8s.io/v1',
    request: { desiredAPIVersion: `${group}/v1`, objects: [{ power: 40, apiVersion: `${group}/v2` }] },
  });
  reviews.length = 0;
  const { body: stored } = await server.request('GET', `${lamps('v1')}/desk`);
  expect(stored).toMatchObject({ watts: 40, apiVersion: `${group}/v1` });
  expect(reviews).toEqual([]);
  const { body: shown } = await server.request('GET', `${lamps('v2')}/desk`);
  expect(shown).toMatchObject({ power: 40, metadata: { uid: stored.metadata.uid } });
  const changed = await server.request('PUT', `${lamps('v2')}/desk`, { ...shown, power: 60 });
  expect(changed).toMatchObject({ status: 200, body: { power: 60, metadata: { generation: 2 } } });
  expect((await server.request('GET', `${lamps('v1')}/desk`)).body).toMatchObject({ watts: 60 });
});

test('a list of another version is one question', async () => {
  await create('v1', 'one', { watts: 1 });
  await create('v1', 'two', { watts: 2 });
  reviews.length = 0;
  const { body } = await server.request('GET', `${lamps('v2')}?labelSelector=set%3Dshown`);
  expect(reviews).toHaveLength(1);
  expect(body['items']).toEqual(expect.arrayContaining([expect.objectContaining({ power: 2 })]));
});

test('a write is validated, counted and owned in the version of the client', async () => {
  const dark = await create('v2', 'dark', { power: 0 });
  expect(dark).toMatchObject({ status: 422, body: { reason: 'Invalid', details: { causes: [{ field: 'power' }] } } });
  expect(reviews).toEqual([]); // a refused write converts nothing
  const { body: bright } = await create('v2', 'bright', { power: 7 });
  expect(bright.metadata.managedFields).toMatchObject([{ apiVersion: `${group}/v2`, fieldsV1: { 'f:power': {} } }]);
  expect(bright.metadata.generation).toBe(1);
  const path = `${lamps('v2')}/bright`;
  const merge = 'application/merge-patch+json';
  expect(await server.request('PATCH', path, { power: 8 }, merge)).toMatchObject({
    status: 200,
    body: { power: 8, metadata: { generation: 2 } },
  });
  expect(await server.request('PATCH', path, { power: 0 }, merge)).toMatchObject({ status: 422 });
  reviews.length = 0;
  // Nothing changes, so nothing is stored: only the present state is converted, and shown.
  const { body: same } = await server.request('PATCH', path, { power: 8 }, merge);
  expect(same.metadata).toMatchObject({ generation: 2 });
  expect(reviews.every(({ request }) => request.desiredAPIVersion === `${group}/v2`)).toBe(true);
});

test('apply merges in the version of its configuration', async () => {
  const apply = (of: string, content: object, manager: string) =>
    server.request(
      'PATCH',
      `${lamps(of)}/applied?fieldManager=${manager}`,
      { apiVersion: `${group}/${of}`, kind: 'Lamp', metadata: { name: 'applied' }, ...content },
      'application/apply-patch+yaml',
    );
  expect(await apply('v2', { power: 3 }, 'one')).toMatchObject({ status: 201, body: { power: 3 } });
  expect(await apply('v2', { power: 4 }, 'one')).toMatchObject({ status: 200, body: { power: 4 } });
  expect(await apply('v2', { power: 5 }, 'two')).toMatchObject({ status: 409, body: { reason: 'Conflict' } });
  expect((await server.request('GET', `${lamps('v1')}/applied`)).body).toMatchObject({ watts: 4 });
});

const applyLamp = (of: string, name: string, manager: string, content: object, options = '') =>
  server.request(
    'PATCH',
    `${lamps(of)}/${name}?fieldManager=${manager}${options}`,
    { apiVersion: `${group}/${of}`, kind: 'Lamp', metadata: { name }, ...content },
    'application/apply-patch+yaml',
  );
const mergeLamp = (of: string, name: string, manager: string, content: object) =>
  server.request('PATCH', `${lamps(of)}/${name}?fieldManager=${manager}`, content, 'application/merge-patch+json');
/** Of each manager: its version, and what it owns. */
const ownersOf = async (name: string): Promise<object> => {
  const { body } = await server.request('GET', `${lamps('v1')}/${name}`);
  const owners = body.metadata.managedFields ?? [];
  return Object.fromEntries(owners.map(({ manager, apiVersion, fieldsV1 }) => [manager, { [apiVersion]: fieldsV1 }]));
};
const [v1, v2] = [`${group}/v1`, `${group}/v2`];

test('a manager owns its fields until a manager of another version changes them', async () => {
  expect(await applyLamp('v1', 'owned', 'one', { watts: 4, spec: { replicas: 1 } })).toMatchObject({ status: 201 });
  expect(await applyLamp('v2', 'owned', 'two', { power: 4 })).toMatchObject({ status: 200 });
  expect(await ownersOf('owned')).toEqual({
    one: { [v1]: { 'f:watts': {}, 'f:spec': { 'f:replicas': {} } } },
    two: { [v2]: { 'f:power': {} } },
  });
  const refused = await applyLamp('v2', 'owned', 'two', { power: 5 });
  expect(refused).toMatchObject({
    status: 409,
    body: { message: 'Apply failed with 1 conflict: conflict with "one": .watts' },
  });
  expect(await applyLamp('v2', 'owned', 'two', { power: 5 }, '&force=true')).toMatchObject({ status: 200 });
  expect(await ownersOf('owned')).toEqual({
    one: { [v1]: { 'f:spec': { 'f:replicas': {} } } },
    two: { [v2]: { 'f:power': {} } },
  });
  expect(await mergeLamp('v1', 'owned', 'three', { watts: 6 })).toMatchObject({ status: 200 });
  expect(await ownersOf('owned')).toEqual({
    one: { [v1]: { 'f:spec': { 'f:replicas': {} } } },
    three: { [v1]: { 'f:watts': {} } },
  });
  reviews.length = 0;
  expect(await mergeLamp('v1', 'owned', 'three', { watts: 6 })).toMatchObject({ status: 200 });
  expect(reviews).toEqual([]); // nothing changes
});

test('what a manager no longer applies goes in the version in which it was applied, unless another one owns it', async () => {
  const on = { replicas: 2 };
  await applyLamp('v1', 'moved', 'one', { watts: 4, spec: on });
  // The same manager goes on in the other version.
  expect(await applyLamp('v2', 'moved', 'one', { power: 4 })).toMatchObject({ status: 200, body: { power: 4 } });
  expect(await ownersOf('moved')).toEqual({ one: { [v2]: { 'f:power': {} } } });
  expect((await server.request('GET', `${lamps('v1')}/moved`)).body['spec']).toBeUndefined();
  await applyLamp('v2', 'moved', 'one', { power: 4, spec: on });
  await applyLamp('v1', 'moved', 'two', { watts: 4, spec: on });
  expect(await applyLamp('v2', 'moved', 'one', {})).toMatchObject({ status: 200, body: { power: 4, spec: on } });
  expect(await ownersOf('moved')).toEqual({ two: { [v1]: { 'f:watts': {}, 'f:spec': { 'f:replicas': {} } } } });
  expect(await applyLamp('v2', 'moved', 'two', { spec: on })).toMatchObject({ status: 200, body: { spec: on } });
  expect((await server.request('GET', `${lamps('v1')}/moved`)).body).not.toHaveProperty('watts');
});

test('if the webhook fails, an update leaves what other versions own as it is, and an apply fails', async () => {
  await applyLamp('v2', 'lonely', 'two', { power: 4 });
  spoil = () => ({ result: { status: 'Failure', message: 'out' } });
  expect(await mergeLamp('v1', 'lonely', 'one', { watts: 5 })).toMatchObject({ status: 200, body: { watts: 5 } });
  expect(await ownersOf('lonely')).toEqual({ one: { [v1]: { 'f:watts': {} } }, two: { [v2]: { 'f:power': {} } } });
  const failed = await applyLamp('v1', 'lonely', 'three', { watts: 6 }, '&force=true');
  expect(failed).toMatchObject({ status: 500, body: { message: expect.stringContaining('out') } });
});

test('subresources are read and written in both versions', async () => {
  await create('v1', 'parts', { watts: 2, spec: { replicas: 2 } });
  const path = (of: string, part: string): string => `${lamps(of)}/parts/${part}`;
  const merge = 'application/merge-patch+json';
  const status = await server.request('PATCH', path('v2', 'status'), { status: { on: 3 }, power: 9 }, merge);
  expect(status).toMatchObject({ status: 200, body: { power: 2, status: { on: 3 }, metadata: { generation: 1 } } });
  expect(await server.request('GET', path('v2', 'scale'))).toMatchObject({
    status: 200,
    body: { kind: 'Scale', spec: { replicas: 2 }, status: { replicas: 3 } },
  });
  expect(await server.request('PATCH', path('v2', 'scale'), { spec: { replicas: 5 } }, merge)).toMatchObject({
    status: 200,
    body: { spec: { replicas: 5 } },
  });
  expect(await server.request('PATCH', path('v1', 'scale'), { spec: { replicas: 6 } }, merge)).toMatchObject({
    status: 200,
    body: { spec: { replicas: 6 } },
  });
  const { body } = await server.request('GET', `${lamps('v2')}/parts`);
  expect(body).toMatchObject({ power: 2, spec: { replicas: 6 }, status: { on: 3 } });
  // Without a time it is before the others.
  const [scaled, ...others] = body.metadata.managedFields ?? [];
  expect(scaled).toMatchObject({ subresource: 'scale', apiVersion: `${group}/v1`, operation: 'Update' });
  expect(scaled).not.toHaveProperty('time');
  for (const { time } of others) expect(time).toEqual(expect.any(String));
  expect(await server.request('GET', `${lamps('v2')}/parts?dryRun=All`)).toMatchObject({ status: 200 });
});

test('a scale that is not set cannot be read, and a write that leaves it so is no error', async () => {
  await create('v1', 'unset', { watts: 2 });
  const path = `${lamps('v2')}/unset/scale`;
  expect(await server.request('GET', path)).toMatchObject({ status: 400 });
  const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'unset' } };
  expect(await server.request('PATCH', `${path}?fieldManager=m`, scale, 'application/apply-patch+yaml')).toMatchObject({
    status: 200,
    body: { kind: 'Scale' },
  });
});

test('an object is deleted in another version, and its finalizers hold it', async () => {
  const { body } = await create('v2', 'held', { power: 1 });
  const finalizers = ['example.com/hold'];
  await server.request('PUT', `${lamps('v2')}/held`, { ...body, metadata: { ...body.metadata, finalizers } });
  expect(await server.request('DELETE', `${lamps('v2')}/held`)).toMatchObject({
    status: 200,
    body: { power: 1, apiVersion: `${group}/v2`, metadata: { deletionTimestamp: expect.any(String) } },
  });
  const { body: held } = await server.request('GET', `${lamps('v1')}/held`);
  const released = { ...held, metadata: { ...held.metadata, finalizers: [] } };
  expect(await server.request('PUT', `${lamps('v1')}/held`, released)).toMatchObject({ status: 200 });
  expect(await server.request('GET', `${lamps('v2')}/held`)).toMatchObject({ status: 404 });
  await create('v1', 'one-of-many', { watts: 1 });
  const all = await server.request('DELETE', `${lamps('v2')}?labelSelector=set%3Dshown`);
  expect(all.status).toBe(200);
  const left = await server.request('GET', `${lamps('v1')}?labelSelector=set%3Dshown`);
  expect(left.body.items).toEqual([]);
});

test('a watch of another version shows what happens in it', async () => {
  await create('v1', 'watched', { watts: 1 });
  const { body: list } = await server.request('GET', lamps('v2'));
  const from = list.metadata.resourceVersion ?? '';
  const watch = await server.open('GET', `${lamps('v2')}?watch=true&resourceVersion=${from}&timeoutSeconds=2`);
  const { body } = await server.request('GET', `${lamps('v1')}/watched`);
  await server.request('PUT', `${lamps('v1')}/watched`, { ...body, watts: 2 });
  await server.request('DELETE', `${lamps('v1')}/watched`);
  const events = (await text(watch))
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line));
  expect(events).toMatchObject([
    { type: 'MODIFIED', object: { apiVersion: `${group}/v2`, power: 2 } },
    { type: 'DELETED', object: { apiVersion: `${group}/v2`, power: 2 } },
  ]);
});

const selecting = (name: string, field: string, storage: boolean): object => ({
  ...version(name, field, storage),
  selectableFields: [{ jsonPath: `.${field}` }],
});

test('field selectors compare objects in the version of the request', async () => {
  await server.request(
    'POST',
    definitions,
    definitionOf('mixers', 'Mixer', [selecting('v1', 'watts', true), selecting('v2', 'power', false)]),
  );
  await untilEstablished('mixers');
  const mixers = (of: string): string => `/apis/${group}/${of}/namespaces/default/mixers`;
  const make = (name: string, watts: number) =>
    server.request('POST', mixers('v1'), { apiVersion: `${group}/v1`, kind: 'Mixer', metadata: { name }, watts });
  for (const [name, watts] of Object.entries({ a: 1, b: 2, c: 1 }))
    expect(await make(name, watts)).toMatchObject({ status: 201 });
  const { body: all } = await server.request('GET', mixers('v2'));
  const select = (of: string, selector: string) =>
    server.request('GET', `${mixers(of)}?fieldSelector=${encodeURIComponent(selector)}`);
  const namesOf = async (of: string, selector: string): Promise<unknown[]> =>
    (await select(of, selector)).body.items?.map(({ metadata }) => metadata.name) ?? [];
  reviews.length = 0;
  expect(await namesOf('v1', 'watts=1')).toEqual(['a', 'c']);
  expect(reviews).toEqual([]);
  expect(await namesOf('v2', 'power=1')).toEqual(['a', 'c']);
  expect(reviews.map(({ request }) => request.objects.length)).toEqual([3]);
  expect(await namesOf('v2', 'power!=1,metadata.name!=a')).toEqual(['b']);
  expect(await namesOf('v2', 'power=2,metadata.name=a')).toEqual([]);
  expect((await select('v2', 'power=1')).body.items).toMatchObject([{ power: 1 }, { power: 1 }]);
  expect(await select('v2', 'watts=1')).toMatchObject({ status: 400 });
  const limited = `${mixers('v2')}?fieldSelector=power%3D1&limit=2`;
  const { body: first } = await server.request('GET', limited);
  expect(first.items).toMatchObject([{ metadata: { name: 'a' } }]);
  const token = (first.metadata as { readonly continue?: string }).continue ?? '';
  const { body: rest } = await server.request('GET', `${limited}&continue=${token}`);
  expect(rest).toMatchObject({ items: [{ metadata: { name: 'c' } }], metadata: { continue: '' } });

  const from = all.metadata.resourceVersion ?? '';
  const open = (query = '') =>
    server.open('GET', `${mixers('v2')}?watch=true&fieldSelector=power%3D1&timeoutSeconds=3${query}`);
  const watches = [await open(), await open(`&resourceVersion=${from}`), await open(`&resourceVersion=${from}`)];
  const set = async (name: string, watts: number, of = 'v1', field = 'watts'): Promise<void> => {
    const merge = 'application/merge-patch+json';
    expect(await server.request('PATCH', `${mixers(of)}/${name}`, { [field]: watts }, merge)).toMatchObject({
      status: 200,
    });
  };
  reviews.length = 0;
  await set('b', 3);
  await set('b', 1);
  await set('b', 4, 'v2', 'power');
  await set('a', 1);
  await server.request('PATCH', `${mixers('v1')}/a`, { spec: { replicas: 1 } }, 'application/merge-patch+json');
  await server.request('DELETE', `${mixers('v1')}/a`);
  await server.request('DELETE', `${mixers('v1')}/b`);
  const changes = [
    { type: 'ADDED', object: { power: 1, metadata: { name: 'b' } } },
    { type: 'DELETED', object: { power: 1, metadata: { name: 'b' } } },
    { type: 'MODIFIED', object: { power: 1, spec: { replicas: 1 }, metadata: { name: 'a' } } },
    { type: 'DELETED', object: { power: 1, metadata: { name: 'a' } } },
  ];
  const [whole, ...later] = await Promise.all(watches.map(async (watch) => eventsOf(await text(watch))));
  expect(whole).toMatchObject([
    { type: 'ADDED', object: { metadata: { name: 'a' } } },
    { type: 'ADDED', object: { metadata: { name: 'c' } } },
    ...changes,
  ]);
  const [one, other] = later;
  expect(one).toMatchObject(changes);
  expect(other).toEqual(one);
  const versions = (one ?? []).map(({ object }) => Number(object.metadata.resourceVersion));
  expect(versions).toEqual(versions.toSorted((left, right) => left - right));

  expect((await server.request('DELETE', `${mixers('v2')}?fieldSelector=power%3D1`)).status).toBe(200);
  expect((await server.request('GET', mixers('v1'))).body.items).toEqual([]);
});

interface Event {
  readonly type: string;
  readonly object: Shown;
}
const eventsOf = (stream: string): Event[] =>
  stream
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Event);

test.each<[string, typeof spoil, string]>([
  ['another uid', () => ({ uid: 'other' }), 'failed: expected response.uid='],
  ['a failure', () => ({ result: { status: 'Failure', message: 'too bright' } }), 'failed: too bright'],
  ['no status', () => ({ result: {} }), "failed: response.result.status was '', not 'Success'"],
  ['too few objects', () => ({ convertedObjects: [] }), 'returned 0 objects, expected 1'],
  ['texts for objects', () => ({ convertedObjects: ['a'] }), 'invalid groupVersion'],
  ...(
    [
      ['the same version', { apiVersion: `${group}/v1` }, 'invalid groupVersion'],
      ['another kind', { kind: 'Desk' }, 'invalid kind (expected Lamp, received Desk)'],
      ['another name', { metadata: { name: 'b' } }, 'must have the same name: hostile != b'],
    ] as const
  ).map(([name, part, message]): [string, typeof spoil, string] => [
    name,
    ({ convertedObjects }) => ({ convertedObjects: convertedObjects.map((one) => ({ ...one, ...part })) }),
    message,
  ]),
  ...(
    [
      ['an invalid label', { labels: { '-': '' } }, 'metadata.labels'],
      ['a label that is no text', { labels: { a: 1 } }, 'must be a string'],
    ] as const
  ).map(([name, part, message]): [string, typeof spoil, string] => [
    name,
    ({ convertedObjects }) => ({
      convertedObjects: convertedObjects.map((one) => ({ ...one, metadata: { ...one.metadata, ...part } })),
    }),
    message,
  ]),
])('a webhook that answers with %s fails the request in its version only', async (_, spoiled, message) => {
  await create('v1', 'hostile', { watts: 1 });
  spoil = spoiled;
  const failed = await server.request('GET', `${lamps('v2')}/hostile`);
  expect(failed.status).toBe(500);
  expect(failed.body['message']).toContain(`conversion webhook for ${group}/v1, Kind=Lamp `);
  expect(failed.body['message']).toContain(message);
  expect((await server.request('GET', `${lamps('v1')}/hostile`)).status).toBe(200);
  expect((await server.request('GET', lamps('v2'))).status).toBe(500);
});

test('the rest of the metadata stays, whatever the webhook answers', async () => {
  await create('v1', 'kept', { watts: 1 });
  spoil = ({ convertedObjects }) => ({
    convertedObjects: convertedObjects.map((one) => ({
      ...one,
      metadata: { ...one.metadata, resourceVersion: '1', finalizers: ['a/b'], labels: { mine: 'yes' } },
    })),
  });
  const { body: before } = await server.request('GET', `${lamps('v1')}/kept`);
  const { body } = await server.request('GET', `${lamps('v2')}/kept`);
  expect(body.metadata).toEqual({ ...before.metadata, labels: { mine: 'yes' }, managedFields: expect.anything() });
});

test('objects of a former stored version stay readable, and are written in the present one', async () => {
  const body = definitionOf('fans', 'Fan', [version('v1', 'watts', true), version('v2', 'power', false)]);
  const path = `${definitions}/fans.${group}`;
  const fans = (of: string): string => `/apis/${group}/${of}/namespaces/default/fans`;
  const make = (of: string, name: string, content: object) =>
    server.request('POST', fans(of), { apiVersion: `${group}/${of}`, kind: 'Fan', metadata: { name }, ...content });
  await server.request('POST', definitions, body);
  await untilEstablished('fans');
  expect(await make('v1', 'old', { watts: 1 })).toMatchObject({ status: 201 });
  expect(await make('v1', 'rewritten', { watts: 2 })).toMatchObject({ status: 201 });
  const { body: defined } = await server.request('GET', path);
  const versions = [version('v1', 'watts', false), version('v2', 'power', true)];
  const changed = { ...defined, spec: { ...(defined['spec'] as object), versions } };
  expect(await server.request('PUT', path, changed)).toMatchObject({ status: 200 });
  let made = 0;
  await until('the other stored version', async () => {
    reviews.length = 0;
    const name = `probe-${made++}`;
    await make('v1', name, { watts: 3 });
    const wasConverted = reviews.some(({ request }) => request.desiredAPIVersion === `${group}/v2`);
    // The definition is changing, so a deletion may fail.
    await until('the end of the probe', async () => {
      const { status } = await server.request('DELETE', `${fans('v1')}/${name}`);
      return status === 404 || undefined;
    });
    return wasConverted || undefined;
  });
  reviews.length = 0;
  expect((await server.request('GET', `${fans('v1')}/old`)).body).toMatchObject({ watts: 1 });
  expect(reviews).toEqual([]); // it is still stored in that version
  const { body: shown } = await server.request('GET', `${fans('v2')}/old`);
  expect(shown).toMatchObject({ apiVersion: `${group}/v2`, power: 1 });
  const { body: rewritten } = await server.request('GET', `${fans('v1')}/rewritten`);
  // Without a change it is stored again, in the present version.
  expect(await server.request('PUT', `${fans('v1')}/rewritten`, rewritten)).toMatchObject({ status: 200 });
  reviews.length = 0;
  expect((await server.request('GET', `${fans('v2')}/rewritten`)).body).toMatchObject({ power: 2 });
  expect(reviews).toEqual([]);
  const { body: list } = await server.request('GET', fans('v2'));
  expect(list.items).toMatchObject([{ power: 1 }, { power: 2 }]);
  expect(reviews.map(({ request }) => request.objects.length)).toEqual([1]);
  const { body: both } = await server.request('GET', fans('v1'));
  expect(both.items).toMatchObject([{ watts: 1 }, { watts: 2 }]);
  const merge = 'application/merge-patch+json';
  expect(await server.request('PATCH', `${fans('v2')}/old`, { power: 5 }, merge)).toMatchObject({ status: 200 });
  expect((await server.request('GET', `${fans('v1')}/old`)).body).toMatchObject({ watts: 5 });
});

test('a webhook that comes later finds objects as they were stored', async () => {
  const versions = [version('v1', 'watts', true), version('v2', 'power', false)];
  const { spec, ...rest } = definitionOf('pipes', 'Pipe', versions);
  const { conversion, ...unconverted } = spec;
  const path = `${definitions}/pipes.${group}`;
  const pipes = (of: string): string => `/apis/${group}/${of}/namespaces/default/pipes`;
  await server.request('POST', definitions, { ...rest, spec: unconverted });
  await untilEstablished('pipes');
  const object = { apiVersion: `${group}/v1`, kind: 'Pipe', metadata: { name: 'a' }, watts: 4 };
  expect(await server.request('POST', pipes('v1'), object)).toMatchObject({ status: 201 });
  const { body: pruned } = await server.request('GET', `${pipes('v2')}/a`);
  expect(pruned).not.toHaveProperty('power');
  const merge = 'application/merge-patch+json';
  expect(await server.request('PATCH', path, { spec: { conversion } }, merge)).toMatchObject({ status: 200 });
  await until('the webhook', async () => {
    const { body } = await server.request('GET', `${pipes('v2')}/a`);
    return body['power'] === 4 || undefined;
  });
});

test('policies see and change objects in the version that they name', async () => {
  const versions = [version('v1', 'watts', true), version('v2', 'power', false)];
  await server.request('POST', definitions, definitionOf('ovens', 'Oven', versions));
  await untilEstablished('ovens');
  const api = 'admissionregistration.k8s.io/v1';
  const matching = (operations: readonly string[]): object => ({
    resourceRules: [{ apiGroups: [group], apiVersions: ['v1'], resources: ['ovens'], operations }],
  });
  const add = async (plural: string, kind: string, spec: object): Promise<void> => {
    const object = { apiVersion: api, kind, metadata: { name: 'ovens' }, spec };
    expect(await server.request('POST', `/apis/${api}/${plural}`, object)).toMatchObject({ status: 201 });
  };
  await add('validatingadmissionpolicies', 'ValidatingAdmissionPolicy', {
    matchConstraints: matching(['CREATE', 'UPDATE', 'DELETE']),
    validations: [
      { expression: 'request.operation == "DELETE" ? oldObject.watts < 90 : object.watts < 100', message: 'too hot' },
    ],
  });
  await add('validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding', {
    policyName: 'ovens',
    validationActions: ['Deny'],
  });
  await add('mutatingadmissionpolicies', 'MutatingAdmissionPolicy', {
    matchConstraints: matching(['CREATE']),
    reinvocationPolicy: 'Never',
    matchConditions: [{ name: 'small', expression: 'object.watts < 5' }],
    mutations: [
      {
        patchType: 'JSONPatch',
        jsonPatch: { expression: '[JSONPatch{op: "replace", path: "/watts", value: object.watts + 10}]' },
      },
    ],
  });
  await add('mutatingadmissionpolicybindings', 'MutatingAdmissionPolicyBinding', { policyName: 'ovens' });
  const ovens = `/apis/${group}/v2/namespaces/default/ovens`;
  const bake = (name: string, power: number) =>
    server.request('POST', ovens, { apiVersion: `${group}/v2`, kind: 'Oven', metadata: { name }, power });
  let tries = 0;
  await until('the policies', async () => {
    const { body } = await bake(`probe-${tries++}`, 3);
    return body['power'] === 13 || undefined;
  });
  await until('the validation', async () => (await bake(`probe-${tries++}`, 120)).status === 422 || undefined);
  expect(await bake('hot', 120)).toMatchObject({ status: 422, body: { message: expect.stringContaining('too hot') } });
  expect(await bake('warm', 95)).toMatchObject({ status: 201, body: { power: 95 } });
  expect(await server.request('DELETE', `${ovens}/warm`)).toMatchObject({ status: 422 });
  expect(await bake('cold', 1)).toMatchObject({ status: 201, body: { power: 11 } });
  spoil = () => ({ result: { status: 'Failure', message: 'closed' } });
  expect(await bake('lost', 20)).toMatchObject({ status: 500, body: { message: expect.stringContaining('closed') } });
});

test.each(['None', 'Webhook'])(
  'conversion %s: an object has the defaults of its first and of its stored version',
  async (strategy) => {
    const flags = Object.fromEntries(['v1', 'v2', 'v3'].map((name) => [name, { type: 'boolean' }]));
    const versions = ['v1', 'v2', 'v3'].map((name) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            defaults: { type: 'object', properties: { ...flags, [name]: { type: 'boolean', default: true } } },
          },
        },
      },
    }));
    const plural = `stoves${strategy.toLowerCase()}`;
    const { spec, ...rest } = definitionOf(plural, `Stove${strategy}`, versions);
    const { conversion, ...others } = spec;
    const body = strategy === 'None' ? { ...rest, spec: others } : { ...rest, spec: { ...others, conversion } };
    expect(await server.request('POST', definitions, body)).toMatchObject({ status: 201 });
    await untilEstablished(plural);
    const path = (of: string): string => `/apis/${group}/${of}/namespaces/default/${plural}`;
    const object = { apiVersion: `${group}/v2`, kind: `Stove${strategy}`, metadata: { name: 'a' }, defaults: {} };
    const made = await server.request('POST', path('v2'), object);
    expect(made).toMatchObject({ status: 201 });
    for (const { body: shown } of [made, await server.request('GET', `${path('v2')}/a`)])
      expect(shown['defaults']).toEqual({ v1: true, v2: true });
    for (const other of ['v1', 'v3'])
      expect((await server.request('GET', `${path(other)}/a`)).body['defaults']).toEqual({ v1: true, v2: true });
  },
);

test.each(['v1beta1', 'v1'])('a webhook is asked by reviews of version %s', async (reviewVersion) => {
  const plural = `kettles${reviewVersion}`;
  const versions = [version('v1', 'watts', true), version('v2', 'power', false)];
  const body = definitionOf(plural, `Kettle${reviewVersion}`, versions, ['unknown', reviewVersion]);
  expect(await server.request('POST', definitions, body)).toMatchObject({ status: 201 });
  await untilEstablished(plural);
  const object = { apiVersion: `${group}/v2`, kind: `Kettle${reviewVersion}`, metadata: { name: 'a' }, power: 4 };
  const path = `/apis/${group}/v2/namespaces/default/${plural}`;
  expect(await server.request('POST', path, object)).toMatchObject({ status: 201, body: { power: 4 } });
  expect(reviews[0]?.apiVersion).toBe(`apiextensions.k8s.io/${reviewVersion}`);
});

test('a webhook that is gone fails requests that need it, and no others', async () => {
  const versions = [version('v1', 'watts', true), version('v2', 'power', false)];
  const { spec, ...rest } = definitionOf('irons', 'Iron', versions);
  const [port] = await freePorts(1);
  const { webhook: asked } = spec.conversion;
  const clientConfig = { ...asked.clientConfig, url: `https://127.0.0.1:${port}/gone` };
  const conversion = { ...spec.conversion, webhook: { ...asked, clientConfig } };
  await server.request('POST', definitions, { ...rest, spec: { ...spec, conversion } });
  await untilEstablished('irons');
  const irons = (of: string): string => `/apis/${group}/${of}/namespaces/default/irons`;
  const object = { apiVersion: `${group}/v1`, kind: 'Iron', metadata: { name: 'a' }, watts: 4 };
  expect(await server.request('POST', irons('v1'), object)).toMatchObject({ status: 201 });
  for (const [method, path] of [
    ['GET', `${irons('v2')}/a`],
    ['GET', irons('v2')],
    ['DELETE', `${irons('v2')}/a`],
  ] as const) {
    const { status, body } = await server.request(method, path);
    expect([status, body['message']]).toEqual([500, expect.stringContaining('conversion webhook for')]);
  }
  const watch = await server.open('GET', `${irons('v2')}?watch=true&timeoutSeconds=5`);
  expect(JSON.parse((await text(watch)).trim())).toMatchObject({ type: 'ERROR', object: { code: 500 } });
  expect(await server.request('GET', `${irons('v1')}/a`)).toMatchObject({ status: 200 });
  expect(await server.request('DELETE', `${irons('v1')}/a`)).toMatchObject({ status: 200 });
});
