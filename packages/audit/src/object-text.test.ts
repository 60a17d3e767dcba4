import { runSync } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { joinTexts } from '@cluster-apiserver/model/json';
import { assert, jsonValue, property } from 'fast-check';
import { compact, holdsTokens, serialize, dropManagedFields, hideTokens } from './object-text.ts';

const json = jsonValue({ maxDepth: 6 });
const text = (value: unknown): string => JSON.stringify(value);

describe('Objects as JSON', () => {
  test('are the same whether serialized in steps or at once', () => {
    assert(
      property(json, (value) => runSync(serialize(value)) === text(value)),
      { seed: 1 },
    );
    expect(runSync(serialize({ a: undefined, b: [undefined, 1] }))).toBe('{"b":[null,1]}');
  });

  test('from a client only lose their white space', () => {
    assert(
      property(json, (value) => runSync(compact(JSON.stringify(value, null, '\t \r\n'))) === text(value)),
      { seed: 1 },
    );
    expect(runSync(compact(' {"a b" : "c\\" d" , "e":[ 1 , -2.5e3 ] }\n'))).toBe('{"a b":"c\\" d","e":[1,-2.5e3]}');
  });

  test('are concatenated from their parts', () => {
    expect(runSync(joinTexts(['{"a":', undefined, '1}', '\n']))).toBe('{"a":1}');
  });
});

describe('Managed fields are left out', () => {
  const fields = [{ manager: 'm"},{', fieldsV1: { 'f:metadata': { 'f:managedFields': {} } } }];
  test.each<[string, object, object]>([
    ['alone', { metadata: { managedFields: fields } }, { metadata: {} }],
    ['first', { metadata: { managedFields: fields, name: 'a' }, b: 1 }, { metadata: { name: 'a' }, b: 1 }],
    ['last', { a: 1, metadata: { name: 'a', managedFields: [] } }, { a: 1, metadata: { name: 'a' } }],
    ['in between', { metadata: { name: 'a', managedFields: fields, uid: 'u' } }, { metadata: { name: 'a', uid: 'u' } }],
    [
      'of each item of a list',
      { items: [{ metadata: { name: 'a', managedFields: fields } }, { metadata: { managedFields: fields } }] },
      { items: [{ metadata: { name: 'a' } }, { metadata: {} }] },
    ],
    [
      'of each row of a table',
      { rows: [{ cells: ['a'], object: { metadata: { managedFields: fields, name: 'a' } } }] },
      { rows: [{ cells: ['a'], object: { metadata: { name: 'a' } } }] },
    ],
  ])('%s', (_, object, expected) => {
    expect(runSync(dropManagedFields(text(object)))).toBe(text(expected));
  });

  test.each([
    { spec: { managedFields: fields } },
    { managedFields: fields },
    { metadata: { annotations: { managedFields: 'a' } } },
    { metadata: [{ managedFields: 'a' }] },
    { items: [{ spec: { metadata: { managedFields: 1 } } }] },
    { metadata: { name: 'managedFields' } },
  ])('nowhere else: %j', (object) => {
    expect(runSync(dropManagedFields(text(object)))).toBe(text(object));
  });
});

describe('Tokens', () => {
  test.each([
    ['', 'serviceaccounts', 'token', true],
    ['', 'serviceaccounts', undefined, false],
    ['authentication.k8s.io', 'tokenreviews', undefined, true],
    ['other.example', 'tokenreviews', undefined, false],
  ])('are looked for in %s/%s/%s: %s', (group, plural, subresource, expected) => {
    expect(holdsTokens(group, plural, subresource)).toBe(expected);
  });

  test('are redacted wherever they occur in such an object', () => {
    const object = {
      spec: { token: 'a.b.c', audiences: ['token'] },
      status: { token: 'd', ok: true, x: [{ token: '' }] },
    };
    expect(JSON.parse(hideTokens(text(object)) ?? '')).toEqual({
      spec: { token: '[hidden]', audiences: ['token'] },
      status: { token: '[hidden]', ok: true, x: [{ token: '' }] },
    });
  });

  test('are not searched for in an object too large to hold only a token', () => {
    expect(hideTokens(text({ token: 'a'.repeat(40_000) }))).toBeUndefined();
  });
});
