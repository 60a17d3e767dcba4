import { expect, test } from '@jest/globals';
import {
  clientBounds,
  duplicatesCharactersMax,
  NestedTooDeepError,
  nestingMax,
  scanJson,
  storedBounds,
  TooManyValuesError,
} from './json-scan.ts';

test.each([
  ['a key twice', '{"a":1,"a":2}', ['a']],
  ['a key twice, once escaped', '{"a":1,"\\u0061":2}', ['a']],
  ['a key twice in an object of a list', '{"l":[{"x":1},{"x":1,"x":2}]}', ['l[1].x']],
  ['a key three times', '{"a":1,"a":2,"a":3}', ['a', 'a']],
  ['the same key in two objects', '{"a":{"b":1},"c":{"b":1}}', []],
  ['a value that looks like a key', '{"a":"b","c":"a"}', []],
  ['a key that ends in a backslash', '{"a\\\\":1,"a\\\\":2}', ['a\\']],
  ['keys behind a text with quotes and braces', '{"t":"\\"}{\\\\","k":1,"k":2}', ['k']],
  ['the key __proto__ twice', '{"__proto__":1,"__proto__":2}', ['__proto__']],
])('duplicates: %s', (_, text, duplicates) => {
  expect(scanJson(text).duplicates).toEqual(duplicates);
});

test('the entries of an outermost list may hold more values, up to a number of entries', () => {
  const bounds = { valuesMax: 4, nestingMax, entries: { max: 2, values: 3 } };
  const scan = (text: string) => scanJson(text, bounds).values;
  expect(scan('[{"a":1,"b":2},{"a":1,"b":2},0,0]')).toBe(8);
  expect(() => scan('[{"a":[],"b":[],"c":[],"d":[]}]')).toThrow(TooManyValuesError);
  expect(() => scan('[[],[],[]]')).toThrow(TooManyValuesError);
  expect(() => scan('{"a":[{},{},{}]}')).toThrow(TooManyValuesError);
  expect(() => scan('{"a":{},"b":{},"c":{}}')).toThrow(TooManyValuesError);
  expect(() => scan(`[${'{},'.repeat(5)}{}]`)).toThrow('more than 4 values');
});

test('an object may have a limit of members, which is named with its path', () => {
  const bounds = { ...clientBounds, membersMax: 2 };
  expect(scanJson('{"a":{"b":1,"c":2},"d":3}', bounds).values).toBe(4);
  expect(() => scanJson('{"a":[{"b":1,"c":2,"d":3}]}', bounds)).toThrow('a[0]: it holds more than 2 members');
});

test('duplicates are listed as long as their paths are not too long together', () => {
  expect(scanJson(`{${'"k":0,'.repeat(5_000)}"k":0}`).duplicates).toHaveLength(5_000);
  const many = scanJson(`{"${'o'.repeat(500)}":{${'"k":0,'.repeat(20_000)}"k":0}}`).duplicates;
  expect(many.join('').length).toBeLessThan(duplicatesCharactersMax + 1_000);
  expect(scanJson(`{${'"":0,'.repeat(20_000)}"":0}`).duplicates).toHaveLength(20_000);
});

test('duplicates among more keys than are compared one by one are found too', () => {
  const keys = Array.from({ length: 100 }, (_, i) => `"k${i}":0`);
  expect(scanJson(`{${keys.join(',')},"k99":1,"k0":1}`).duplicates).toEqual(['k99', 'k0']);
});

test.each([
  ['{"a":1}', false],
  ['{"a":-123456789012345}', false],
  ['{"a":1234567890123456}', true],
  ['{"a":1.5}', true],
  ['{"a":1e3}', true],
  ['{"a":3.0}', true],
  ['{"a":"1.5"}', false],
])('%s needs exact numbers: %s', (text, needed) => {
  expect(scanJson(text).exactNumbersNeeded).toBe(needed);
});

test.each([
  ['sent', clientBounds],
  ['stored', storedBounds],
])('in a %s text 10,000 levels are accepted and one more is rejected with its path', (_, bounds) => {
  const levels = 10_000;
  expect(() => scanJson('['.repeat(levels), bounds)).not.toThrow();
  expect(() => scanJson('['.repeat(levels + 1), bounds)).toThrow(NestedTooDeepError);
  const message = new RegExp(`^a\\.x\\.x.{1,110}: nested deeper than ${levels} levels$`);
  expect(() => scanJson(`{"a":${'{"x":'.repeat(levels)}`, bounds)).toThrow(message);
});

test('values deeper than 500 levels are reported by their paths, and too many of them are rejected', () => {
  const deep = '['.repeat(nestingMax) + ']'.repeat(nestingMax);
  expect(scanJson(`{"a":${deep.slice(1, -1)}}`).deepPaths).toEqual([]);
  const { deepPaths } = scanJson(`{"a":${deep},"b":1,"c":{"d":${deep}}}`);
  expect(deepPaths).toEqual([expect.stringMatching(/^a\[0\]/), expect.stringMatching(/^c\.d\[0\]/)]);
  const beforeParsing = () =>
    scanJson(`{"a":[${new Array(102).fill('['.repeat(40) + ']'.repeat(40)).join()}]}`, {
      ...clientBounds,
      nestingMax: 40,
    });
  expect(beforeParsing).toThrow(NestedTooDeepError);
});

test('a text that is no JSON ends the scan all the same', () => {
  for (const text of ['', '"', '{"', '{"a', ']}', '{"a":"\\', '\\', '{,,}', '-', '{"a"}', '[[['])
    expect(() => scanJson(text)).not.toThrow();
});
