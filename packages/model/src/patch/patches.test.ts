import { describe, expect, test } from '@jest/globals';
import { boolean, field, list, object, string, stringMap } from '../schema/schema.ts';
import { mergedBy } from './merge-patch.ts';
import { PatchFormError } from './errors.ts';
import { strategicallyMergedBy } from './strategic-merge-patch.ts';

describe('merge patch', () => {
  // The table of RFC 7386, appendix A.
  test.each<[unknown, unknown, unknown]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ])('%j with %j gives %j', (target, patch, expected) => {
    expect(mergedBy(target, patch)).toEqual(expected);
  });

  test('__proto__ is plain data', () => {
    const merged = mergedBy(
      { a: 1 },
      JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}'),
    ) as object;
    expect(Object.keys(merged)).toEqual(['a', '__proto__', 'constructor']);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

describe('strategic merge patch', () => {
  const entry = object(
    { name: field(string, ''), value: field(string, ''), labels: field(stringMap, '') },
    { atomic: true },
  );
  const schema = object({
    flag: field(boolean, '', 'given'),
    labels: field(stringMap, ''),
    inner: field(object({ a: field(string, ''), b: field(string, '') }), ''),
    entries: field(list(entry, { key: 'name' }), ''),
    words: field(list(string, 'set'), ''),
    whole: field(list(string, 'atomic'), ''),
  });
  const named = (...names: string[]) => names.map((name) => ({ name }));

  test.each<[string, object, object, object]>([
    [
      'maps are merged and null takes away',
      { labels: { k: '1', l: '2' } },
      { labels: { k: null, m: '3' } },
      { labels: { l: '2', m: '3' } },
    ],
    ['null takes a field away', { flag: true }, { flag: null }, {}],
    [
      'new entries come before those that they are not compared with',
      { entries: named('s1') },
      { entries: named('s2') },
      { entries: named('s2', 's1') },
    ],
    [
      'old entries stay where they were',
      { entries: named('s1', 's2') },
      { entries: named('s2', 's3') },
      { entries: named('s1', 's2', 's3') },
    ],
    [
      'an entry is merged into the one of its key',
      { entries: [{ name: 'a', value: '1', labels: { x: '1' } }] },
      { entries: [{ name: 'a', labels: { y: '2' } }] },
      { entries: [{ name: 'a', value: '1', labels: { x: '1', y: '2' } }] },
    ],
    [
      'an entry is taken away by its key',
      { entries: named('a', 'b') },
      { entries: [{ name: 'a', $patch: 'delete' }] },
      { entries: named('b') },
    ],
    [
      'a list is replaced whole when the patch says so',
      { entries: named('a', 'b') },
      { entries: [{ $patch: 'replace' }, { name: 'z' }] },
      { entries: named('z') },
    ],
    [
      'a map is replaced whole when the patch says so',
      { labels: { k: '1' } },
      { labels: { $patch: 'replace', m: '3' } },
      { labels: { m: '3' } },
    ],
    [
      'an object is emptied when the patch says so',
      { inner: { a: '1' } },
      { inner: { $patch: 'delete' } },
      { inner: {} },
    ],
    [
      'a set is united, in the order of the patch',
      { words: ['a', 'c'] },
      { words: ['b', 'a'] },
      { words: ['b', 'a', 'c'] },
    ],
    [
      'values of a set are taken away',
      { words: ['a', 'b'] },
      { '$deleteFromPrimitiveList/words': ['a'] },
      { words: ['b'] },
    ],
    [
      'the order is set without a change of contents',
      { entries: named('a', 'b', 'c') },
      { '$setElementOrder/entries': named('c', 'b', 'a') },
      { entries: named('c', 'b', 'a') },
    ],
    [
      'the order is set with a new entry',
      { entries: named('s1', 's2') },
      { '$setElementOrder/entries': named('s3', 's2', 's1'), entries: named('s3') },
      { entries: named('s3', 's2', 's1') },
    ],
    ['an atomic list is replaced', { whole: ['a'] }, { whole: ['b'] }, { whole: ['b'] }],
    [
      'only what is named is retained',
      { inner: { a: '1', b: '2' } },
      { inner: { $retainKeys: ['a'], a: '3' } },
      { inner: { a: '3' } },
    ],
    [
      'what is new carries no directives',
      {},
      { inner: { $retainKeys: ['a'], a: '1' }, entries: [{ name: 'x', $patch: 'delete' }, { name: 'y' }] },
      { inner: { a: '1' }, entries: named('y') },
    ],
    ['an order for what is not there changes nothing', {}, { '$setElementOrder/entries': named('a') }, {}],
  ])('%s', (_, target, patch, expected) => {
    expect(strategicallyMergedBy(schema, target, patch)).toEqual(expected);
    const order = (merged: unknown): string =>
      JSON.stringify(
        (merged as { entries?: unknown; words?: unknown }).entries ?? (merged as { words?: unknown }).words,
      );
    expect(order(strategicallyMergedBy(schema, target, patch))).toBe(order(expected));
  });

  test.each<[string, unknown]>([
    ['a list for an object', []],
    ['an unknown directive', { labels: { $patch: 'bogus' } }],
    ['an unknown directive of an entry', { entries: [{ name: 'a', $patch: 'bogus' }] }],
    ['an entry without its key', { entries: [{ value: 'x' }] }],
    ['a deletion without its key', { entries: [{ $patch: 'delete' }] }],
    ['retained keys that lack what is set', { inner: { $retainKeys: ['a'], b: '1' } }],
    ['retained keys that are no list', { inner: { $retainKeys: 'a' } }],
    ['an order that is no list', { '$setElementOrder/entries': {} }],
  ])('%s is refused', (_, patch) => {
    const target = { labels: { k: '1' }, inner: { a: '1' }, entries: named('a') };
    expect(() => strategicallyMergedBy(schema, target, patch)).toThrow(PatchFormError);
  });

  test('the target is left as it was', () => {
    const target = { labels: { k: '1' }, entries: named('a', 'b'), words: ['w'] };
    const before = structuredClone(target);
    strategicallyMergedBy(schema, target, {
      labels: { l: '2' },
      entries: [{ name: 'a', value: 'x' }],
      '$deleteFromPrimitiveList/words': ['w'],
    });
    expect(target).toEqual(before);
  });

  test('__proto__ is plain data', () => {
    strategicallyMergedBy(
      schema,
      { labels: {} },
      JSON.parse('{"labels":{"__proto__":"x"},"__proto__":{"polluted":"y"}}'),
    );
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });
});
