import { expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { objectMeta } from './common.ts';
import { collectDefinitions, toJsonSchema } from './json-schema.ts';
import type { Dialect } from './open-api.ts';
import { publicationOf, publishedName, sharedPublication } from './publication.ts';
import { any, boolean, jsonField, int32, int64, list, microTime, object, string, stringMap, time } from './schema.ts';

const version2: Dialect = { references: '#/definitions/', describedReferences: true };
const version3: Dialect = { references: '#/components/schemas/', describedReferences: false };

test.each([
  [string, { type: 'string' }],
  [boolean, { type: 'boolean' }],
  [int32, { type: 'integer', format: 'int32' }],
  [int64, { type: 'integer', format: 'int64' }],
  [time, { type: 'string', format: 'date-time' }],
  [microTime, { type: 'string', format: 'date-time' }],
  [stringMap, { type: 'object', additionalProperties: { type: 'string' } }],
  [any, { type: 'object' }],
  [list(string, 'atomic'), { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' }],
  [
    list(string, 'set'),
    {
      type: 'array',
      items: { type: 'string' },
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-patch-strategy': 'merge',
    },
  ],
])('the schema of %j is published with the extensions for merging', (schema, expected) => {
  expect(toJsonSchema(schema, version3)).toEqual(expected);
});

test('a keyed list has the extensions of server-side apply and of strategic merge patch', () => {
  const entries = list(object({ name: jsonField(string, 'Its name.') }, { atomic: true }), { keys: ['name'] });
  expect(toJsonSchema(entries, version2)).toEqual({
    type: 'array',
    items: {
      type: 'object',
      properties: { name: { description: 'Its name.', type: 'string' } },
      'x-kubernetes-map-type': 'atomic',
    },
    'x-kubernetes-list-map-keys': ['name'],
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-patch-merge-key': 'name',
    'x-kubernetes-patch-strategy': 'merge',
  });
});

const part = object({}, { publication: sharedPublication('Part', 'A part.') });
const whole = object(
  { one: jsonField(part, 'The first.'), more: jsonField(list(part, 'atomic'), 'The others.') },
  { publication: publicationOf({ group: 'shop.example.com', version: 'v1', kind: 'Whole' }, 'A whole.', ['one']) },
);

test('a named schema is defined once and referred to, as each version requires', () => {
  const reference = '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Part';
  expect(runSync(collectDefinitions([whole, whole], version3))).toEqual({
    'com.example.shop.v1.Whole': {
      description: 'A whole.',
      type: 'object',
      required: ['one'],
      properties: {
        one: { description: 'The first.', allOf: [{ $ref: reference }] },
        more: {
          description: 'The others.',
          type: 'array',
          items: { $ref: reference },
          'x-kubernetes-list-type': 'atomic',
        },
      },
      'x-kubernetes-group-version-kind': [{ group: 'shop.example.com', version: 'v1', kind: 'Whole' }],
    },
    'io.k8s.apimachinery.pkg.apis.meta.v1.Part': { description: 'A part.', type: 'object' },
  });
  expect(runSync(collectDefinitions([whole], version2))['com.example.shop.v1.Whole']?.properties?.one).toEqual({
    description: 'The first.',
    $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Part',
  });
});

test('whatever is referred to is defined', () => {
  const found = runSync(collectDefinitions([objectMeta], version3));
  const referred = [...JSON.stringify(found).matchAll(/#\/components\/schemas\/([^"]+)/g)].map(([, name]) => name);
  expect(referred.length).toBeGreaterThan(0);
  for (const name of referred) expect(found).toHaveProperty([name ?? '']);
});

test.each([
  ['', 'io.k8s.api.core.v1.Lamp'],
  ['events.k8s.io', 'io.k8s.api.events.v1.Lamp'],
  ['rbac.authorization.k8s.io', 'io.k8s.api.rbac.v1.Lamp'],
  ['workshop.example.com', 'com.example.workshop.v1.Lamp'],
])('a kind of the group "%s" is published as %s', (group, name) => {
  expect(publishedName({ group, version: 'v1', kind: 'Lamp' })).toBe(name);
});
