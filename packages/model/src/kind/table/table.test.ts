import { expect, test } from '@jest/globals';
import { defineKind } from '../kind.ts';
import type { ObjectOf } from '../object-of.ts';
import type { KubeObject } from '../object.ts';
import { jsonField, int32 } from '../../schema/schema.ts';
import { type Column, createdAtColumn, nameColumn } from './column.ts';
import { partialObjectMetadata, partialObjectMetadataList } from './partial-metadata.ts';
import { tableOf, type TableOptions } from './table.ts';

const fields = { watts: jsonField(int32, 'Its power.') };
type Lamp = ObjectOf<typeof fields>;

const kind = (columns?: readonly Column<Lamp>[]) =>
  defineKind({
    group: 'shop.example',
    version: 'v1',
    kind: 'Lamp',
    plural: 'lamps',
    singular: 'lamp',
    description: 'Gives light.',
    fields,
    deletedAnswer: 'object',
    ...(columns && { columns }),
  });

const created = '2026-01-01T00:00:00Z';
const lamp = (name: string): KubeObject => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: '7', creationTimestamp: created, labels: { a: 'b' } },
  watts: 40,
});
const options: TableOptions = {
  version: 'v1',
  include: 'Metadata',
  namesColumns: true,
  nowMs: Date.parse(created) + 5000,
};
const metadata = { resourceVersion: '9', continue: 'more', remainingItemCount: 3 };

test('a kind without columns is shown by name and age', () => {
  expect(tableOf(kind(), [lamp('a'), lamp('b')], metadata, options)).toEqual({
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: [
      { name: 'Name', type: 'string', format: 'name', priority: 0, description: expect.any(String) },
      { name: 'Age', type: 'string', format: '', priority: 0, description: expect.any(String) },
    ],
    rows: ['a', 'b'].map((name) => ({
      cells: [name, '5s'],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: lamp(name).metadata },
    })),
  });
});

test('a kind with columns is shown by them, and wide ones have a lower priority', () => {
  const watts: Column<Lamp> = { name: 'Watts', description: '', priority: 1, value: ({ watts = 0 }) => watts };
  const table = tableOf(kind([watts, nameColumn]), [lamp('a')], {}, options);
  expect(table.columnDefinitions).toMatchObject([
    { name: 'Watts', priority: 1 },
    { name: 'Name', priority: 0 },
  ]);
  expect(table.rows.map(({ cells }) => cells)).toEqual([[40, 'a']]);
});

test('a column of type date has times as cells', () => {
  const { columnDefinitions, rows } = tableOf(kind([createdAtColumn]), [lamp('a')], {}, options);
  expect(columnDefinitions).toMatchObject([{ name: 'Created At', type: 'date', format: '' }]);
  expect(rows.map(({ cells }) => cells)).toEqual([[created]]);
});

test.each([
  ['None', null],
  ['Metadata', partialObjectMetadata(lamp('a'), 'v1')],
  ['Object', { ...lamp('a'), kind: 'Lamp', apiVersion: 'shop.example/v1' }],
] as const)('a row that includes %s has that of its object', (include, object) => {
  expect(tableOf(kind(), [lamp('a')], {}, { ...options, include }).rows[0]?.object).toEqual(object);
});

test('a later table of a watch does not name the columns again', () => {
  expect(tableOf(kind(), [lamp('a')], {}, { ...options, namesColumns: false }).columnDefinitions).toBeNull();
});

test('no objects are a table with no rows', () => {
  expect(tableOf(kind(), [], {}, options).rows).toEqual([]);
});

test('the older version of the form is that of the rows too', () => {
  expect(tableOf(kind(), [lamp('a')], {}, { ...options, version: 'v1beta1' })).toMatchObject({
    apiVersion: 'meta.k8s.io/v1beta1',
    rows: [{ object: { apiVersion: 'meta.k8s.io/v1beta1' } }],
  });
});

test('a list of partial objects has items that name their kind', () => {
  expect(partialObjectMetadataList([lamp('a')], metadata, 'v1')).toEqual({
    kind: 'PartialObjectMetadataList',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    items: [{ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: lamp('a').metadata }],
  });
});
