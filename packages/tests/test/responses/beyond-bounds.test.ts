/** Objects that another server stored beyond the bounds of this one: they can shrink, and cannot grow. */
import { describe, expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { patchTypes, useServer } from './use-server.ts';

const served = useServer();
const { json, merge, apply } = patchTypes;

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
const labelsOf = (count: number): object => Object.fromEntries(many(count, (i) => [`k${i}`, '']));
const ownersOf = (count: number): object[] =>
  many(count, (i) => ({ apiVersion: 'v1', kind: 'Thing', name: 'n'.repeat(300), uid: `u${i}` }));
const finalizersOf = (count: number): string[] => many(count, (i) => `${'a'.repeat(250)}/f${i}`);
const secretsOf = (count: number): object[] => many(count, (i) => ({ name: `s${i}` }));

/** The finalizer that the writes of these tests remove, owned by the manager of their apply. */
const last = 'example.com/last';
const manager = 'applier';

interface Case {
  readonly what: string;
  readonly kind: 'ServiceAccount' | 'Event';
  readonly metadata: { readonly finalizers?: readonly string[] };
  readonly fields: object;
  /** A merge patch that the bound refuses. */
  readonly growth?: object;
  readonly refusal?: number;
}

const accountWith = (what: string, metadata: object, growth: object): Case => ({
  what,
  kind: 'ServiceAccount',
  metadata,
  fields: {},
  growth,
});

const metadataCases: readonly Case[] = [
  accountWith('labels', { labels: labelsOf(1_001) }, { metadata: { labels: { more: '' } } }),
  accountWith(
    'ownerReferences',
    { ownerReferences: ownersOf(1_000) },
    { metadata: { ownerReferences: ownersOf(1_001) } },
  ),
  accountWith('finalizers', { finalizers: finalizersOf(1_100) }, { metadata: { finalizers: finalizersOf(1_102) } }),
  { what: 'involvedObject', kind: 'Event', metadata: {}, fields: { involvedObject: {} } },
];
const manyValues: Case = {
  what: 'values',
  kind: 'ServiceAccount',
  metadata: {},
  fields: { secrets: secretsOf(13_000) },
  growth: { secrets: secretsOf(12_000), imagePullSecrets: secretsOf(3_000) },
  refusal: 413,
};

const targetOf = ({ kind }: Case): string => `/api/v1/namespaces/default/${kind.toLowerCase()}s/x`;
const finalizersBefore = ({ metadata: { finalizers = [] } }: Case): string[] => [...finalizers, last];
const bodyOf = ({ kind, metadata, fields }: Case): { readonly [name: string]: unknown; readonly metadata: object } => ({
  apiVersion: 'v1',
  kind,
  ...fields,
  metadata: { name: 'x', ...metadata },
});

async function store(one: Case): Promise<void> {
  const { metadata, ...fields } = bodyOf(one);
  const object = {
    ...fields,
    metadata: {
      ...metadata,
      namespace: 'default',
      uid: 'u',
      creationTimestamp: '2026-01-01T00:00:00Z',
      finalizers: finalizersBefore(one),
      managedFields: [
        {
          manager,
          operation: 'Apply',
          apiVersion: 'v1',
          time: '2026-01-01T00:00:00Z',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:metadata': { 'f:finalizers': { [`v:"${last}"`]: {} } } },
        },
      ],
    },
  };
  const key = `/registry/${one.kind.toLowerCase()}s/default/x`;
  await served.server.store.create(
    key,
    Buffer.from(`${JSON.stringify(object)}\n`),
    {},
    callUntil(Number.POSITIVE_INFINITY),
  );
}

type Write = readonly [name: string, (one: Case) => readonly [method: string, body: object, type?: string]];

const patches: readonly Write[] = [
  ['a merge patch', ({ metadata }) => ['PATCH', { metadata: { finalizers: metadata.finalizers ?? null } }, merge]],
  [
    'a JSON patch',
    (one) => ['PATCH', [{ op: 'remove', path: `/metadata/finalizers/${finalizersBefore(one).indexOf(last)}` }], json],
  ],
];
const wholeBodies: readonly Write[] = [
  ['a replace', (one) => ['PUT', bodyOf(one)]],
  ['an apply', (one) => ['PATCH', bodyOf(one), apply]],
];
const emptyApply: Write = [
  'an apply',
  ({ kind }) => ['PATCH', { apiVersion: 'v1', kind, metadata: { name: 'x' } }, apply],
];

describe.each([
  ...metadataCases.map((one) => ({ ...one, writes: [...patches, ...wholeBodies] })),
  // No request body may hold so many values.
  { ...manyValues, writes: [...patches, emptyApply] },
])('stored beyond the bound: $what', ({ writes, ...one }) => {
  test.each(writes)('%s removes a finalizer', async (_, requestOf) => {
    await store(one);
    const [method, body, type] = requestOf(one);
    const target = `${targetOf(one)}?fieldManager=${manager}`;
    const written = await served.send(method, target, body, type);
    expect([written.status, written.body.message]).toEqual([200, undefined]);
    expect(written.body.metadata.finalizers ?? []).toEqual(one.metadata.finalizers ?? []);
  });

  test('a deleted object is removed with its last finalizer', async () => {
    await store(one);
    expect((await served.send('DELETE', targetOf(one))).status).toBe(200);
    const released = await served.send('PATCH', targetOf(one), { metadata: { finalizers: null } }, merge);
    expect(released.status).toBe(200);
    expect((await served.send('GET', targetOf(one))).status).toBe(404);
  });
});

test.each(metadataCases.concat(manyValues).filter(({ growth }) => growth !== undefined))(
  'growth beyond the bound is refused: $what',
  async ({ growth, refusal = 422, ...one }) => {
    await store(one);
    expect((await served.send('PATCH', targetOf(one), growth, merge)).status).toBe(refusal);
  },
);

test('one of too many owner references can be removed', async () => {
  const owners: Case = accountWith('ownerReferences', { ownerReferences: ownersOf(1_000) }, {});
  await store(owners);
  const patch = { metadata: { ownerReferences: ownersOf(999) } };
  const { status, body } = await served.send('PATCH', targetOf(owners), patch, merge);
  expect([status, body.metadata.ownerReferences?.length]).toEqual([200, 999]);
});

test('an event must keep the object that it is about', async () => {
  const event: Case = {
    what: 'involvedObject',
    kind: 'Event',
    metadata: {},
    fields: { involvedObject: { name: 'p' } },
  };
  await store(event);
  expect((await served.send('PATCH', targetOf(event), { involvedObject: null }, merge)).status).toBe(422);
});
