/**
 * Client-supplied numbers around 2^31, 2^53, 2^63 and 2^64 in every place: rejected or understood, and never an
 * internal error.
 */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { type InMemoryServer, serveInMemory } from '../serve-in-memory.ts';
import { textOf } from '../../../pipeline/test/open-pipeline.ts';
import { type ServedResource, servedResources, validObject } from '../responses/resources.ts';

let server: InMemoryServer;
beforeEach(async () => {
  server = await serveInMemory();
});
afterEach(() => server.close());

/** As strings, because JavaScript numbers would be rounded. */
const whole64 = ['2147483648', '9007199254740993', '9223372036854775807', '-9007199254740993', '-9223372036854775808'];
const beyond64 = ['9223372036854775808', '-9223372036854775809', '18446744073709551616', '1e400', `1${'0'.repeat(40)}`];
const numbers = [...whole64, ...beyond64, '-0', '1.5', '1e3'];
const noNumbers = ['0x10', ' 1', '1 ', '１', 'NaN', 'Infinity', '1_000', '1n', '+1', '--1', '٣', '1,0'];

/** Of the kinds whose changes the server counts. */
const countingVersions = ['admissionregistration.k8s.io/v1', 'flowcontrol.apiserver.k8s.io/v1'];

interface Place extends ServedResource {
  /** The fields that have numbers of their own, with "NUMBER" in their place. */
  readonly numbered: readonly object[];
}

const places: readonly Place[] = servedResources.map((place) => ({ ...place, numbered: numberedFields(place) }));

function numberedFields({ apiVersion, kind, fields }: ServedResource): readonly object[] {
  const count = apiVersion === 'v1' ? 'count' : 'deprecatedCount';
  if (kind === 'Event') return [{ [count]: 'NUMBER' }, { series: { count: 'NUMBER' } }];
  if (kind === 'ValidatingAdmissionPolicy') return [{ status: { observedGeneration: 'NUMBER' } }];
  const { webhooks } = fields as { readonly webhooks?: readonly object[] };
  return webhooks ? [{ webhooks: webhooks.map((one) => ({ ...one, timeoutSeconds: 'NUMBER' })) }] : [];
}

type Request = readonly [method: string, target: string, body?: string, type?: string];
const json = 'application/json-patch+json';
const merge = 'application/merge-patch+json';
const strategic = 'application/strategic-merge-patch+json';
const apply = 'application/apply-patch+yaml';

/** Encodes JSON with a number in place of `"NUMBER"`. */
const inJson = (value: object, number: string): string => JSON.stringify(value).replaceAll('"NUMBER"', number);
const continueAt = (number: string): string =>
  Buffer.from(`{"v":"meta.k8s.io/v1","rv":${number},"start":"a\\u0000"}`).toString('base64url');

const inQuery = ({ path }: Place): readonly ((given: string) => Request)[] => [
  (given) => ['GET', `${path}?limit=${given}`],
  (given) => ['GET', `${path}?timeoutSeconds=${given}`],
  (given) => ['GET', `${path}?resourceVersion=${given}&timeout=100ms`],
  (given) => ['GET', `${path}/x?resourceVersion=${given}&timeout=100ms`],
  (given) => ['GET', `${path}?resourceVersion=${given}&resourceVersionMatch=Exact&limit=1&timeout=100ms`],
  (given) => ['GET', `${path}?resourceVersion=${given}&resourceVersionMatch=NotOlderThan&timeout=100ms`],
  (given) => ['GET', `${path}?timeout=${given}s`],
  (given) => ['GET', `${path}?timeout=${given}h${given}ns`],
  (given) => ['GET', `${path}?labelSelector=a%3E${given}`],
  (given) => ['GET', `${path}?shardSelector=shardRange(object.metadata.uid,'0x${given}','0xf${given}')`],
  (given) => ['GET', `${path}?continue=${continueAt(given)}`],
  (given) => ['GET', `${path}?continue=${continueAt(`"${given}"`)}`],
  (given) => ['GET', `${path}?watch=1&timeoutSeconds=${given}&resourceVersion=1`],
  (given) => ['GET', `${path}?watch=1&timeoutSeconds=1&resourceVersion=${given}&timeout=100ms`],
  (given) => ['DELETE', `${path}/x?dryRun=All&gracePeriodSeconds=${given}`],
  (given) => ['DELETE', `${path}?dryRun=All&gracePeriodSeconds=${given}`],
  (given) => ['DELETE', `${path}/x?dryRun=All`, `{"preconditions":{"resourceVersion":"${given}"}}`],
  (given) => ['PUT', `${path}/${given}`, '{}'],
];

const inBodies = (place: Place): readonly ((number: string) => Request)[] => {
  const { path } = place;
  const members: readonly object[] = [
    { metadata: { name: 'x', generation: 'NUMBER' } },
    { metadata: { name: 'x', deletionGracePeriodSeconds: 'NUMBER' } },
    { metadata: { name: 'x', resourceVersion: 'NUMBER' } },
    { metadata: { name: 'NUMBER' } },
    { metadata: { name: 'x', labels: { a: 'NUMBER' } } },
    { unknown: 'NUMBER' },
    ...place.numbered,
  ];
  const bodies = members.map((member) => ({ ...validObject(place), ...member }));
  return [
    ...bodies.map(
      (body) =>
        (number: string): Request => ['POST', path, inJson(body, number)],
    ),
    ...bodies.map(
      (body) =>
        (number: string): Request => ['POST', path, inJson(body, number), 'application/yaml'],
    ),
    ...bodies.map(
      (body) =>
        (number: string): Request => ['PUT', `${path}/x`, inJson(body, number)],
    ),
    ...bodies.map(
      (body) =>
        (number: string): Request => ['PATCH', `${path}/x?fieldManager=m&force=1`, inJson(body, number), apply],
    ),
    ...members.flatMap((member) =>
      [merge, strategic].map(
        (type) =>
          (number: string): Request => ['PATCH', `${path}/x`, inJson(member, number), type],
      ),
    ),
    ...place.numbered.map(
      (member) =>
        (number: string): Request => ['PATCH', `${path}/x/status`, inJson(member, number), merge],
    ),
    (number) => ['DELETE', `${path}/x`, `{"gracePeriodSeconds":${number},"dryRun":["All"]}`],
    (number) => ['DELETE', path, `{"gracePeriodSeconds":${number},"dryRun":["All"]}`],
    (number) => ['PATCH', `${path}/x`, `[{"op":"add","path":"/metadata/generation","value":${number}}]`, json],
    (number) => ['PATCH', `${path}/x`, `[{"op":"test","path":"/metadata/generation","value":${number}}]`, json],
    (number) => ['PATCH', `${path}/x`, `[{"op":"add","path":"/metadata/finalizers/${number}","value":"a.b/c"}]`, json],
    (number) => ['POST', `${path}/x/token`, `{"spec":{"expirationSeconds":${number}}}`],
  ];
};

const generationIn = (text: string): string | undefined => text.match(/"generation":(-?\d+)/)?.[1];

/** Sets the generation of a stored object, as another server may have. */
async function storeGeneration(key: string, generation: string): Promise<void> {
  const call = callUntil(Number.POSITIVE_INFINITY);
  const { stored } = await server.store.get(key, call);
  if (!stored) throw new Error(`${key} is absent`);
  const text = Buffer.from(stored.value)
    .toString()
    .replace(/"generation":\d+,/, '');
  const value = Buffer.from(text.replace('"metadata":{', `"metadata":{"generation":${generation},`));
  await server.store.update(key, value, stored.revision, {}, call);
}

/** A request with a resourceVersion or a short timeout may time out. */
const mayBeLate = (target: string): boolean => /resourceVersion=|timeout|continue=/.test(target);

async function expectUnderstoodOrRefused(requests: readonly Request[]): Promise<void> {
  const answers = await Promise.all(
    requests.map(async ([method, target, body, type]) => {
      const { status } = await server.request(method, target, body, type);
      return { method, target, body, status };
    }),
  );
  const wrong = answers.filter(({ status, target }) => status >= 500 && !(status === 504 && mayBeLate(target)));
  expect(wrong).toEqual([]);
  expect(server.reportedErrors).toEqual([]);
}

describe.each(places)('$apiVersion $kind', (place) => {
  beforeEach(async () => {
    await server.request('POST', place.path, JSON.stringify(validObject(place)));
  });

  test.each([...numbers, ...noNumbers])('%s in each parameter', async (given) => {
    const encoded = encodeURIComponent(given);
    await expectUnderstoodOrRefused(inQuery(place).map((request) => request(encoded)));
  });

  test.each(numbers)('%s in each body', async (number) => {
    await expectUnderstoodOrRefused(inBodies(place).map((request) => request(number)));
    // Every accepted object can be read in every encoding.
    for (const type of ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'])
      await expectUnderstoodOrRefused([['GET', place.path, '', type]]);
  });

  test.each(beyond64)('%s is rejected in 64-bit fields', async (number) => {
    const generation = inJson(validObject(place, { name: 'y', generation: 'NUMBER' }), number);
    expect((await server.request('POST', place.path, generation)).status).toBe(400);
    const options = `{"gracePeriodSeconds":${number}}`;
    expect((await server.request('DELETE', `${place.path}/x`, options)).status).toBe(400);
  });

  test.each(whole64)('%s is kept exactly in 64-bit fields', async (number) => {
    const body = inJson(validObject(place, { name: 'kept', generation: 'NUMBER' }), number);
    const created = await server.request('POST', place.path, body);
    if (created.status !== 201) return expect([created.status, number.startsWith('-')]).toEqual([422, true]);
    const text = await textOf(await server.request('GET', `${place.path}/kept`));
    expect(text).toContain('"name":"kept"');
    // The server counts from one or keeps the given generation, and never sets another number.
    const counts = place.isCustom || countingVersions.includes(place.apiVersion);
    expect(generationIn(text) ?? number).toBe(counts ? '1' : number);
  });

  test.each([
    ['9007199254740991', '9007199254740992'],
    ['9007199254740993', '9007199254740994'],
    ['9223372036854775807', '9223372036854775807'],
  ])('a stored generation of %s is kept by a write and becomes %s with a deletion', async (before, after) => {
    await server.request(
      'POST',
      place.path,
      JSON.stringify(validObject(place, { name: 'stored', finalizers: ['a.b/c'] })),
    );
    await storeGeneration(`${place.key}/stored`, before);
    const one = `${place.path}/stored`;
    const labelled = await textOf(await server.request('PATCH', one, '{"metadata":{"labels":{"a":"b"}}}', merge));
    expect([labelled, generationIn(labelled)]).toEqual([expect.stringContaining('"a":"b"'), before]);
    await server.request('DELETE', one);
    // A deletion in two steps, like that of namespaces, does not count.
    const counted = place.kind === 'Namespace' ? before : after;
    expect(generationIn(await textOf(await server.request('GET', one)))).toBe(counted);
  });
});
