/** A real webhook that converts the objects of a custom resource between its versions. */
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { text } from 'node:stream/consumers';
import { kinds } from '@cluster-apiserver/kinds';
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
  subresources: { status: {} },
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: { [field]: { type: 'integer', minimum: 1 }, status: { type: 'object' } },
    },
  },
});
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const created = await server.request('POST', definitions, {
  metadata: { name: `lamps.${group}` },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural: 'lamps', kind: 'Lamp' },
    versions: [version('v1', 'watts', true), version('v2', 'power', false)],
    conversion: {
      strategy: 'Webhook',
      webhook: {
        clientConfig: {
          url: `${webhook.origin}/convert`,
          caBundle: Buffer.from(webhook.authority).toString('base64'),
        },
        conversionReviewVersions: ['v1'],
      },
    },
  },
});
if (created.status !== 201) throw new Error(JSON.stringify(created.body));
const lamps = (of: string): string => `/apis/${group}/${of}/namespaces/default/lamps`;
await until('the definition is established', async () => {
  const { body } = await server.request('GET', `${definitions}/lamps.${group}`);
  return JSON.stringify(body).includes('"InitialNamesAccepted"') || undefined;
});

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

test('what was converted is validated as it is stored', async () => {
  expect(await create('v2', 'dark', { power: 0 })).toMatchObject({ status: 422, body: { reason: 'Invalid' } });
});

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
