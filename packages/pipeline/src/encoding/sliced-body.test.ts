import { beforeEach, describe, expect, test } from '@jest/globals';
import { type Clock, invariant, requireValue, systemClock } from '@cluster-apiserver/base';
import {
  toClientForm,
  decodeStored,
  encodeProtobuf,
  encodeStored,
  formatYaml,
  type TypeNames,
} from '@cluster-apiserver/model/codec';
import { defineKind, type ApiVersion, type KubeObject } from '@cluster-apiserver/model/kind';
import { decode, field, int32, list, object, string, stringMap } from '@cluster-apiserver/model/schema';
import { pathSegmentNames } from '@cluster-apiserver/model/validation';
import type { ObjectList, Resource } from '@cluster-apiserver/registry';
import { gunzipSync } from 'node:zlib';
import { type BodySource, readWhole } from '../body-source.ts';
import type { ApiRequest, ApiResponse } from '../exchange.ts';
import { compressResponse } from './gzip.ts';
import type { Encoding } from './encode.ts';
import { listBody } from './list-body.ts';
import type { ResponseFormat, Transform } from './negotiate.ts';
import { objectBody } from './object-body.ts';
import { inServedForm } from './served-form.ts';
import { listSchema, objectSchema, createListTransform, transformObject } from './transform.ts';

/** A body generated in slices equals, byte for byte, the value encoded at once. */

const part = object({ name: field(1, string, '') });
const robot = defineKind({
  group: '',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  shortNames: [],
  description: 'For these tests.',
  fields: { arms: field(2, int32, ''), words: field(3, stringMap, ''), parts: field(4, list(part, 'atomic'), '') },
  names: pathSegmentNames,
  qualifiedFinalizers: false,
  createOnUpdate: false,
  ownsOthers: true,
  deletedAnswer: 'object',
  subresources: [],
  otherVersions: [
    {
      group: 'machines.example',
      version: 'v2',
      fields: { limbs: field(3, int32, ''), words: field(2, stringMap, ''), parts: field(4, list(part, 'atomic'), '') },
      renamed: { limbs: 'arms' },
      selectableFields: {},
      validate: () => [],
    },
  ],
  selectableFields: {},
  unknownSelectorField: (name) => name,
});
const machine = requireValue(robot.versions[1]);

const stored = (name: string, more: object = {}, metadata: object = {}): string => {
  const known = { name, namespace: 'n', uid: `uid-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' };
  const made = { kind: 'Robot', apiVersion: 'v1', metadata: { ...known, ...metadata }, ...more };
  return toClientForm(encodeStored(decode(robot.schema, made, () => {})), 7);
};
const many = <T>(count: number, of: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => of(i));
const strings = (count: number, of: string): Record<string, string> =>
  Object.fromEntries(many(count, (i) => [`${of}${i}`, `value ${i}: ${of}`]));
const ownedFields = {
  'f:metadata': { 'f:labels': Object.fromEntries(many(2500, (i) => [`f:a${i}`, {}])) },
  'f:arms': {},
};
const large: readonly string[] = [
  stored('labels', { arms: 1 }, { labels: strings(1200, 'label') }),
  stored('words', { words: strings(1000, 'wörd "\\\u2028') }),
  stored('parts', { arms: 3, parts: many(1800, (i) => ({ name: `part ${i}` })) }),
  stored('empties', { parts: many(12_000, () => ({})) }),
  stored('text', { words: { one: 'long words and lines\n'.repeat(2000) } }),
  stored(
    'owned',
    {},
    {
      managedFields: [
        {
          manager: 'm',
          operation: 'Update',
          apiVersion: 'v1',
          time: '2026-01-01T00:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: ownedFields,
        },
      ],
    },
  ),
];
const small = many(40, (i) => stored(`r${i}`, { arms: i, words: { é: 'ü', b: 'yes' } }, { labels: { a: `b${i}` } }));
const lists: Readonly<Record<string, readonly string[]>> = {
  nothing: [],
  'one object': small.slice(0, 1),
  'small objects': [...small, ...many(600, (i) => stored(`more-${i}`, { words: { text: 'x'.repeat(50) } }))],
  'large objects among small ones': [...small.slice(0, 3), ...large, ...small.slice(3)],
};

const nowMs = Date.parse('2026-01-02T00:00:00Z');
/** Each reading of the clock advances it, so work yields as often as possible. */
let ms: number;
let turns: number;
const clock: Clock = {
  ...systemClock,
  now: () => nowMs,
  monotonicMs: () => (ms += 0.2),
  soon: (callback) => {
    turns++;
    setImmediate(callback);
  },
};
beforeEach(() => {
  ms = 0;
  turns = 0;
});

const table = (include: 'None' | 'Metadata' | 'Object'): Transform => ({ as: 'Table', version: 'v1', include });
const forms: readonly ResponseFormat[] = [
  ...(['json', 'prettyJson', 'yaml'] as const).flatMap((encoding): ResponseFormat[] => [
    { encoding },
    { encoding, transform: table('None') },
    { encoding, transform: table('Metadata') },
    { encoding, transform: table('Object') },
    { encoding, transform: { as: 'PartialObjectMetadataList', version: 'v1beta1' } },
  ]),
  { encoding: 'protobuf' },
  { encoding: 'protobuf', transform: { as: 'PartialObjectMetadataList', version: 'v1' } },
];

const atOnce = (encoding: Encoding, value: object, schema: Parameters<typeof encodeProtobuf>[0]): Buffer => {
  if (encoding === 'protobuf') return encodeProtobuf(schema, value as TypeNames);
  if (encoding === 'yaml') return Buffer.from(formatYaml(value));
  return Buffer.from(encoding === 'prettyJson' ? JSON.stringify(value, null, 2) : `${JSON.stringify(value)}\n`);
};

const bytesOf = async (body: ApiResponse['body'] | Promise<ApiResponse['body']>): Promise<Buffer> =>
  readWhole((await body) ?? '');

const next = (source: BodySource) => source.next(pieceBytes, Buffer.allocUnsafe);
const pieceBytes = 256 * 1024;

const resourceOf = (served: ApiVersion): Resource => {
  const { conversion } = robot;
  invariant(conversion.isImmediate, 'names are converted at once');
  const fromStored = served === robot ? undefined : (object: KubeObject) => conversion.convert(object, robot, served);
  return { kind: robot, served, fromStored, clock } as unknown as Resource;
};
const listOf = (items: readonly string[]): ObjectList =>
  ({
    items: items.map((json) => ({ json })),
    revision: 9,
    continue: 'more',
    remainingItemCount: 3,
  }) as unknown as ObjectList;
const metadata = { resourceVersion: '9', continue: 'more', remainingItemCount: 3 };
const cases = [robot, machine].flatMap((kind) =>
  forms.map((form) => [kind.kind, kind.apiVersion, JSON.stringify(form), kind, form] as const),
);

describe.each(cases)('%s of %s as %s', (_, __, ___, kind, form) => {
  test.each(Object.entries(lists))('a list of %s', async (____, items) => {
    const objects = items.map((json) => inServedForm(resourceOf(kind), decodeStored(json)));
    const { empty, members, isNullIfEmpty } = createListTransform(kind, metadata, form.transform, nowMs);
    const isNull = isNullIfEmpty && items.length === 0 && form.encoding !== 'protobuf';
    const value = { ...empty, [form.transform?.as === 'Table' ? 'rows' : 'items']: isNull ? null : members(objects) };
    const expected = atOnce(form.encoding, value, listSchema(kind, form.transform));
    const made = await bytesOf(listBody(resourceOf(kind), form, listOf(items)));
    expect(made.equals(expected)).toBe(true);
  });

  test('one object', async () => {
    const transform: Transform | undefined =
      form.transform?.as === 'PartialObjectMetadataList'
        ? { ...form.transform, as: 'PartialObjectMetadata' }
        : form.transform;
    for (const json of [small[0] as string, ...large]) {
      const served = inServedForm(resourceOf(kind), decodeStored(json));
      const value = transform ? transformObject(kind, served, transform, { nowMs }) : served;
      const expected = atOnce(form.encoding, value, objectSchema(kind, transform));
      const body = objectBody(
        resourceOf(kind),
        { encoding: form.encoding, ...(transform && { transform }) },
        {
          json,
        },
      );
      expect((await bytesOf(body)).equals(expected)).toBe(true);
    }
  });
});

/** The loop gives long work its time back. */
async function untilIdle(): Promise<void> {
  for (let before = -1; before < turns; await new Promise((resolve) => setImmediate(resolve))) before = turns;
}

describe('a long list', () => {
  const items = many(600, (i) => stored(`more-${i}`, { words: { text: 'x'.repeat(50) } }));

  test.each(forms.filter(({ encoding, transform }) => encoding !== 'json' || transform))(
    'is generated only as far as it is read, as %j',
    async (form) => {
      await untilIdle();
      turns = 0;
      const body = (await listBody(resourceOf(robot), form, listOf(items))) as BodySource;
      await new Promise((resolve) => setImmediate(resolve));
      expect(turns).toBe(0);
      await next(body);
      await untilIdle();
      const begun = turns;
      for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
      expect(turns).toBe(begun);
      body.close();
      expect(await next(body)).toBeUndefined();
    },
  );

  test('yields to others between its slices', async () => {
    const order: string[] = [];
    const read = async (name: string): Promise<void> => {
      const body = (await listBody(resourceOf(robot), { encoding: 'yaml' }, listOf(items))) as BodySource;
      while (await next(body)) order.push(name);
    };
    await Promise.all([read('a'), read('b')]);
    const half = order.slice(0, order.length >> 1);
    expect(half).toContain('a');
    expect(half).toContain('b');
  });

  test.each(forms.filter(({ encoding, transform }) => encoding !== 'json' || transform))(
    'compressed, as %j',
    async (form) => {
      const body = (): Promise<BodySource> =>
        Promise.resolve(listBody(resourceOf(robot), form, listOf(items)) as BodySource);
      const request = { header: (name: string) => (name === 'accept-encoding' ? 'gzip' : undefined) } as ApiRequest;
      const { headers, body: zipped } = compressResponse(request, { status: 200, headers: {}, body: await body() });
      expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: ['Accept-Encoding'] });
      expect(gunzipSync(await bytesOf(zipped)).equals(await bytesOf(body()))).toBe(true);
    },
  );
});

test('protobuf lists beyond the buffer are encoded twice with the same result', async () => {
  const items = many(700, (i) => stored(`w-${i}`, { words: { text: `${i}`.repeat(30_000) } }));
  const body = (): BodySource => listBody(resourceOf(robot), { encoding: 'protobuf' }, listOf(items)) as BodySource;
  const begin = async (): Promise<BodySource> => {
    const begun = body();
    await next(begun);
    return begun;
  };
  const expected = await bytesOf(body());
  // These responses stay unread, so their buffers reach the limit.
  const unread = await Promise.all([begin(), begin()]);
  expect((await bytesOf(body())).equals(expected)).toBe(true);
  for (const begun of unread) begun.close();
  expect((await bytesOf(body())).equals(expected)).toBe(true);
}, 60_000);
