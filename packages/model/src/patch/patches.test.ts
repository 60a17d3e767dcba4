import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import {
  type Arbitrary,
  assert,
  boolean as anyBoolean,
  constant,
  constantFrom,
  dictionary,
  oneof,
  property,
  record,
  shuffledSubarray,
  tuple,
  uniqueArray,
} from 'fast-check';
import { anyMap, anyValue } from '../../test/any-json.ts';
import { mergedByModel, ModelRefusal, strategicModel } from '../../test/merge-models.ts';
import { patienceMs } from '../../test/random-json.ts';
import { boolean, jsonField, list, object, string, stringMap } from '../schema/schema.ts';
import { applyMergePatch } from './merge-patch.ts';
import { PatchFormError } from './errors.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

/** All from one seed, so that a soak begins with those of `npm test`. */
const rounds = repetitions({ ci: 20_000, soak: 100_000 });

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
    // Not in the table: kube-apiserver goes on in lists.
    [{ a: [1] }, { a: [{ b: null, c: [{ d: null }] }, null] }, { a: [{ c: [{}] }, null] }],
  ])('%j with %j gives %j', (target, patch, expected) => {
    expect(applyMergePatch(target, patch)).toEqual(expected);
  });

  test('__proto__ is plain data', () => {
    const merged = applyMergePatch(
      { a: 1 },
      JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}}'),
    ) as object;
    expect(Object.keys(merged)).toEqual(['a', '__proto__', 'constructor']);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});

test(
  `${rounds} random merge patches do what the definition says`,
  () => {
    assert(
      property(anyMap, anyValue, (target, patch) => {
        const before = JSON.stringify([target, patch]);
        const [actual, expected] = [applyMergePatch(target, patch), mergedByModel(target, patch)];
        if (!isDeepStrictEqual(actual, expected))
          throw new Error(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
        if (JSON.stringify([target, patch]) !== before) throw new Error('changed in place');
      }),
      { numRuns: rounds, seed: 7386 },
    );
  },
  patienceMs,
);

describe('strategic merge patch', () => {
  const entry = object(
    { name: jsonField(string, ''), value: jsonField(string, ''), labels: jsonField(stringMap, '') },
    { atomic: true },
  );
  const schema = object({
    flag: jsonField(boolean, '', 'given'),
    labels: jsonField(stringMap, ''),
    inner: jsonField(object({ a: jsonField(string, ''), b: jsonField(string, '') }), ''),
    entries: jsonField(list(entry, { keys: ['name'] }), ''),
    words: jsonField(list(string, 'set'), ''),
    whole: jsonField(list(string, 'atomic'), ''),
    references: jsonField(list(entry, 'atomic'), ''),
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
      'an atomic list knows no directives',
      { references: named('a', 'b') },
      { references: [{ name: 'a', $patch: 'delete' }] },
      { references: [{ name: 'a', $patch: 'delete' }] },
    ],
    [
      'a replaced object knows no directives below it',
      { inner: { a: '1' }, references: named('a') },
      {
        $patch: 'replace',
        references: [{ name: 'a' }, { name: 'b', $patch: 'delete' }],
        labels: { $patch: 'replace' },
      },
      { references: [{ name: 'a' }, { name: 'b', $patch: 'delete' }], labels: { $patch: 'replace' } },
    ],
    [
      'nor do the entries of a replaced list',
      { entries: named('a') },
      { entries: [{ $patch: 'replace' }, { name: 'b', labels: { $patch: 'delete' }, value: null }] },
      { entries: [{ name: 'b', labels: { $patch: 'delete' }, value: null }] },
    ],
    [
      'nor does a new entry of a list',
      { entries: named('a') },
      { entries: [{ name: 'b', labels: { $patch: 'delete' }, value: null }] },
      { entries: [{ name: 'b', labels: { $patch: 'delete' }, value: null }, { name: 'a' }] },
    ],
    [
      'deletions need no place in the order',
      { entries: named('a', 'b') },
      { '$setElementOrder/entries': named('b'), entries: [{ name: 'a', $patch: 'delete' }] },
      { entries: named('b') },
    ],
    [
      'an empty order orders nothing',
      { words: ['a'] },
      { '$setElementOrder/words': [], words: ['b'] },
      { words: ['a', 'b'] },
    ],
    [
      'only what is named is retained',
      { inner: { a: '1', b: '2' } },
      { inner: { $retainKeys: ['a'], a: '3' } },
      { inner: { a: '3' } },
    ],
    [
      'where nothing was, what carries a directive is left out',
      {},
      {
        inner: { $patch: 'replace', a: '1' },
        entries: [
          { name: 'x', $patch: 'delete' },
          { name: 'y', value: null, labels: { $patch: 'merge' } },
        ],
        references: [{ name: 'a' }, { name: 'b', $patch: 'delete' }],
      },
      { entries: named('y'), references: named('a') },
    ],
    [
      'where nothing was, other directives are unknown fields',
      {},
      { inner: { $retainKeys: ['a'], a: '1' } },
      { inner: { $retainKeys: ['a'], a: '1' } },
    ],
    ['an order for what is not there changes nothing', {}, { '$setElementOrder/entries': named('a') }, {}],
  ])('%s', (_, target, patch, expected) => {
    expect(applyStrategicMergePatch(schema, target, patch)).toEqual(expected);
    const order = (merged: unknown): string =>
      JSON.stringify(
        (merged as { entries?: unknown; words?: unknown }).entries ?? (merged as { words?: unknown }).words,
      );
    expect(order(applyStrategicMergePatch(schema, target, patch))).toBe(order(expected));
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
    ['an order that lacks what is set', { '$setElementOrder/entries': named('a'), entries: named('b') }],
    ['an order that lacks a value that is set', { '$setElementOrder/words': ['a'], words: ['b'] }],
    ['another order than that of what is set', { '$setElementOrder/words': ['a', 'b'], words: ['b', 'a'] }],
    ['an order of entries without their key', { '$setElementOrder/entries': [{ value: 'a' }] }],
    ['an order of an atomic list', { '$setElementOrder/whole': ['a'] }],
    ['an order of what is no list', { '$setElementOrder/flag': ['a'] }],
    ['an order of what the kind does not have', { '$setElementOrder/unknown': ['a'] }],
    ['an order of a label', { labels: { '$setElementOrder/k': ['a'] } }],
    ['an order of a list that is taken away', { '$setElementOrder/entries': named('a'), entries: null }],
  ])('%s is refused', (_, patch) => {
    const target = { labels: { k: '1' }, inner: { a: '1' }, entries: named('a') };
    expect(() => applyStrategicMergePatch(schema, target, patch)).toThrow(PatchFormError);
  });

  test('the target is left as it was', () => {
    const target = { labels: { k: '1' }, entries: named('a', 'b'), words: ['w'] };
    const before = structuredClone(target);
    applyStrategicMergePatch(schema, target, {
      labels: { l: '2' },
      entries: [{ name: 'a', value: 'x' }],
      '$deleteFromPrimitiveList/words': ['w'],
    });
    expect(target).toEqual(before);
  });

  test('__proto__ is plain data', () => {
    applyStrategicMergePatch(
      schema,
      { labels: {} },
      JSON.parse('{"labels":{"__proto__":"x"},"__proto__":{"polluted":"y"}}'),
    );
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
  });

  test(
    `${rounds} random patches do what the model does`,
    () => {
      const form = { labels: 'map', inner: { a: 'whole', b: 'whole' }, entries: 'named', words: 'set' } as const;
      let successes = 0;
      assert(
        property(anyTarget, anyPatch, (target, patch) => {
          const before = JSON.stringify([target, patch]);
          const actual = refused(PatchFormError, () => applyStrategicMergePatch(schema, target, patch));
          const expected = refused(ModelRefusal, () => strategicModel(form, target, patch));
          if (!isDeepStrictEqual(actual, expected))
            throw new Error(`${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
          if (JSON.stringify([target, patch]) !== before) throw new Error('changed in place');
          if (actual !== 'refused') successes += 1;
        }),
        { numRuns: rounds, seed: 5 },
      );
      expect(successes).toBeGreaterThan(rounds / 2);
    },
    patienceMs,
  );

  function refused(refusal: typeof PatchFormError | typeof ModelRefusal, merge: () => unknown): unknown {
    try {
      return merge();
    } catch (error) {
      if (error instanceof refusal) return 'refused';
      throw error;
    }
  }

  const letters = ['a', 'b', 'c', 'd'];
  const letter = constantFrom(...letters);
  const some = shuffledSubarray(letters);
  const smallMap = (...values: readonly (string | null)[]): Arbitrary<object> =>
    dictionary(letter, constantFrom(...values), { maxKeys: letters.length, noNullPrototype: true });

  type Members = Readonly<Record<string, Arbitrary<unknown>>>;
  const merged = (parts: readonly Arbitrary<object>[]): Arbitrary<Record<string, unknown>> =>
    tuple(...parts).map((all) => Object.assign({}, ...all));
  /** The members are there in one of so many objects, each for itself. */
  const oneIn = (times: number, members: Members): Arbitrary<object>[] =>
    Object.entries(members).map(([name, member]) =>
      oneof(
        { weight: times - 1, arbitrary: constant({}) },
        { weight: 1, arbitrary: member.map((value) => ({ [name]: value })) },
      ),
    );
  /** At most one of each name. */
  const entriesOf = (one: Arbitrary<Record<string, unknown>>): Arbitrary<unknown[]> =>
    uniqueArray(one, { maxLength: letters.length, selector: (given) => given['name'] ?? given });

  const anyTarget = record(
    {
      flag: anyBoolean(),
      labels: smallMap('1', '2'),
      inner: smallMap('1', '2'),
      entries: entriesOf(record({ name: letter, value: constantFrom('1', '2') }, { noNullPrototype: true })),
      words: some,
      whole: some,
    },
    { requiredKeys: [], noNullPrototype: true },
  );

  const mapPatch = merged([
    smallMap('1', '2', null),
    ...oneIn(8, { $patch: constantFrom('replace', 'delete', 'merge', 'bogus'), $retainKeys: constant(letters) }),
  ]);
  const entryPatch = merged([
    oneof({ weight: 39, arbitrary: letter.map((name) => ({ name })) }, { weight: 1, arbitrary: constant({}) }),
    ...oneIn(2, { value: constantFrom('1', '3', null) }),
    ...oneIn(8, { $patch: constantFrom('delete', 'delete', 'delete', 'replace', 'bogus') }),
  ]);
  const anyPatch = merged([
    ...oneIn(2, {
      flag: constantFrom(true, null),
      labels: oneof({ weight: 2, arbitrary: mapPatch }, { weight: 2, arbitrary: constantFrom(null, 'x') }),
      inner: mapPatch,
      entries: oneof({ weight: 2, arbitrary: entriesOf(entryPatch) }, { weight: 1, arbitrary: constant(null) }),
      words: tuple(some, oneof(constant([]), some)).map((both) => both.flat()),
      whole: some,
    }),
    ...oneIn(20, {
      '$setElementOrder/entries': oneof(
        { weight: 8, arbitrary: some.map((names) => named(...names)) },
        { weight: 1, arbitrary: constant('x') },
      ),
      '$setElementOrder/words': some,
      '$deleteFromPrimitiveList/words': some,
      $retainKeys: constantFrom(['labels', 'inner', 'entries', 'words', 'whole', 'flag'], ['labels'], 'x'),
      $patch: constantFrom('merge', 'replace', 'delete', 'bogus'),
    }),
  ]);
});
