import { expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { apply } from '../managed-fields/apply.ts';
import { readApplied } from '../managed-fields/applied.ts';
import { managedFieldsAfterUpdate } from '../managed-fields/managed-fields.ts';
import { decode } from '../schema/decode.ts';
import { bytes, jsonField, map, stringMap } from '../schema/schema.ts';
import { defineKind } from './kind.ts';
import type { KubeObject } from './object.ts';

/** Texts are accepted, and shown as bytes. */
const kind = defineKind({
  group: '',
  version: 'v1',
  kind: 'Box',
  plural: 'boxes',
  singular: 'box',
  description: 'For this test.',
  fields: { data: jsonField(map(bytes), ''), stringData: jsonField(stringMap, '', 'writeOnly') },
  defaults: (box) => ({
    ...box,
    data: {
      ...box.data,
      ...Object.fromEntries(Object.entries(box.stringData ?? {}).map(([key, text]) => [key, btoa(text)])),
    },
  }),
});

const read = (value: object): KubeObject => decode(kind.schema, value, () => {});
const completed = (object: KubeObject): KubeObject => kind.defaults?.(object) ?? object;
const writer = { manager: 'm', apiVersion: 'v1', time: '2026-01-01T00:00:00Z' };

test('a write-only field is merged by its kind, and in no object after that', () => {
  expect(completed(read({ data: { a: 'YQ==', b: 'Yg==' }, stringData: { b: 'x' } }))).toEqual({
    metadata: {},
    data: { a: 'YQ==', b: 'eA==' },
  });
});

test('updates own what became of it, applies own it under its own name', () => {
  const sent = { metadata: { name: 'a' }, stringData: { a: 'x' } };
  const [entry] = runSync(managedFieldsAfterUpdate(kind.schema, read({}), completed(read(sent)), writer)) ?? [];
  expect(entry?.fieldsV1).toEqual({ 'f:data': { '.': {}, 'f:a': {} } });
  const configuration = readApplied(kind.schema, sent, () => {});
  const applied = runSync(
    apply(kind.schema, read({ metadata: { uid: 'u' } }), read({}), configuration, { ...writer, force: false }),
  );
  expect(completed(applied)).toMatchObject({
    data: { a: 'eA==' },
    metadata: { managedFields: [{ fieldsV1: { 'f:stringData': { 'f:a': {} } } }] },
  });
  expect(completed(applied)).not.toHaveProperty('stringData');
});
