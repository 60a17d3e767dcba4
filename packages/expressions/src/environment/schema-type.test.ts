import { expect, test } from '@jest/globals';
import { jsonField, list, object, type Schema, string, stringMap, time } from '@cluster-apiserver/model/schema';
import { formatType } from '../check/type.ts';
import { typeOfKind } from './schema-type.ts';

test.each<[string, Schema, string]>([
  ['a text', string, 'string'],
  ['a quantity', { type: 'quantity' }, 'string'],
  ['a double', { type: 'double' }, 'double'],
  ['a number that may be a text', { type: 'intOrString' }, 'dyn'],
  ['a time', time, 'timestamp'],
  ['a list of maps', list(stringMap, 'atomic'), 'list(map(string, string))'],
  ['an object', object({ a: jsonField(string, '') }), 'K.held'],
  ['an object without declared fields', { ...object({}), rest: string }, 'map(string, string)'],
  ['what clients sent', { type: 'any' }, 'K.held'],
  ['a text that is a date', { ...string, rules: { format: { name: 'date' } } }, 'timestamp'],
])('%s has its type in expressions', (_, schema, type) => {
  const { held } = typeOfKind('K', object({ held: jsonField(schema, '') })).fields;
  expect(held && formatType(held)).toBe(type);
});

test('a part without a schema cannot be named', () => {
  expect(typeOfKind('K', object({ held: jsonField({ type: 'any', contents: 'owned' }, '') })).fields).toEqual({});
});
