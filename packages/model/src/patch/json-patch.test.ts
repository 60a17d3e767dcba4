import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { requireValue, runSync } from '@cluster-apiserver/base';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import {
  type Arbitrary,
  array,
  assert,
  boolean,
  constant,
  constantFrom,
  nat,
  oneof,
  property,
  record,
} from 'fast-check';
import { anyMap, anyName, anyValue } from '../../test/any-json.ts';
import { patchedByModel } from '../../test/json-patch-model.ts';
import { names, patienceMs } from '../../test/random-json.ts';
import { parseJson } from '../json/json.ts';
import { PatchFailedError, PatchFormError, TooManyOperationsError } from './errors.ts';
import { applyJsonPatch, readJsonPatch } from './json-patch.ts';

/** All from one seed, so that a soak begins with those of `npm test`. */
const rounds = repetitions({ ci: 20_000, soak: 100_000 });

const times = (count: number, operation: object): object[] => Array.from({ length: count }, () => operation);
const patched = (document: unknown, operations: unknown): unknown =>
  runSync(applyJsonPatch(document, readJsonPatch(operations)));
const add = (path: string, value: unknown) => ({ op: 'add', path, value });

// The examples of RFC 6902, appendix A.
test.each<[string, unknown, unknown[], unknown]>([
  ['A.1', { foo: 'bar' }, [add('/baz', 'qux')], { baz: 'qux', foo: 'bar' }],
  ['A.2', { foo: ['bar', 'baz'] }, [add('/foo/1', 'qux')], { foo: ['bar', 'qux', 'baz'] }],
  ['A.3', { baz: 'qux', foo: 'bar' }, [{ op: 'remove', path: '/baz' }], { foo: 'bar' }],
  ['A.4', { foo: ['bar', 'qux', 'baz'] }, [{ op: 'remove', path: '/foo/1' }], { foo: ['bar', 'baz'] }],
  ['A.5', { baz: 'qux', foo: 'bar' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo', foo: 'bar' }],
  [
    'A.6',
    { foo: { bar: 'baz', waldo: 'fred' }, qux: { corge: 'grault' } },
    [{ op: 'move', from: '/foo/waldo', path: '/qux/thud' }],
    { foo: { bar: 'baz' }, qux: { corge: 'grault', thud: 'fred' } },
  ],
  [
    'A.7',
    { foo: ['all', 'grass', 'cows', 'eat'] },
    [{ op: 'move', from: '/foo/1', path: '/foo/3' }],
    { foo: ['all', 'cows', 'eat', 'grass'] },
  ],
  [
    'A.8',
    { baz: 'qux', foo: ['a', 2, 'c'] },
    [
      { op: 'test', path: '/baz', value: 'qux' },
      { op: 'test', path: '/foo/1', value: 2 },
    ],
    { baz: 'qux', foo: ['a', 2, 'c'] },
  ],
  ['A.10', { foo: 'bar' }, [add('/child', { grandchild: {} })], { foo: 'bar', child: { grandchild: {} } }],
  ['A.11', { foo: 'bar' }, [{ ...add('/baz', 'qux'), xyz: 123 }], { foo: 'bar', baz: 'qux' }],
  ['A.14', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: 10 }], { '/': 9, '~1': 10 }],
  ['A.16', { foo: ['bar'] }, [add('/foo/-', ['abc', 'def'])], { foo: ['bar', ['abc', 'def']] }],
])('example %s of the RFC', (_, document, operations, expected) => {
  expect(patched(document, operations)).toEqual(expected);
});

test.each<[string, unknown, unknown[]]>([
  ['A.9', { baz: 'qux' }, [{ op: 'test', path: '/baz', value: 'bar' }]],
  ['A.12', { foo: 'bar' }, [add('/baz/bat', 'qux')]],
  ['A.15', { '/': 9, '~1': 10 }, [{ op: 'test', path: '/~01', value: '10' }]],
])('example %s of the RFC fails', (_, document, operations) => {
  expect(() => patched(document, operations)).toThrow(PatchFailedError);
});

test.each<[string, unknown, unknown[], unknown]>([
  ['the whole document can be replaced', { a: 1 }, [{ op: 'replace', path: '', value: [] }], []],
  ['the whole document can be added', [], [add('', { a: 1 })], { a: 1 }],
  ['an empty name is a name', {}, [add('/', 1), add('/a', {}), add('/a/', 2)], { '': 1, a: { '': 2 } }],
  ['~0 and ~1 stand for tilde and slash', {}, [add('/~0~1', 1)], { '~/': 1 }],
  ['a number is a name in a map', { '0': 'x' }, [add('/0', 'y'), add('/00', 'z')], { '0': 'y', '00': 'z' }],
  ['an index just behind the end appends', ['a'], [add('/1', 'b')], ['a', 'b']],
  ['replacing a member that is not there sets it', {}, [{ op: 'replace', path: '/a', value: 1 }], { a: 1 }],
  ['a test for null holds where nothing is', {}, [{ op: 'test', path: '/a', value: null }], {}],
  ['an addition without a value adds null', {}, [{ op: 'add', path: '/a' }], { a: null }],
  ['a test without a value is one for null', { a: null }, [{ op: 'test', path: '/a' }], { a: null }],
  ['copying what is not there gives null', {}, [{ op: 'copy', from: '/a', path: '/b' }], { b: null }],
  ['a value can be moved to where it is', { a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
  ['a value can be moved over what held it', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/a' }], { a: 1 }],
  [
    'a test compares members in any order',
    { a: { x: [1], y: 2 } },
    [{ op: 'test', path: '/a', value: { y: 2, x: [1] } }],
    { a: { x: [1], y: 2 } },
  ],
  [
    'a copy is apart from what it was copied from',
    { a: { x: 1 } },
    [{ op: 'copy', from: '/a', path: '/b' }, add('/b/x', 2), add('/a/y', 3)],
    { a: { x: 1, y: 3 }, b: { x: 2 } },
  ],
  [
    'a value that is added twice is two values',
    {},
    (() => {
      const value = { x: 1 };
      return [add('/a', value), add('/b', value), add('/a/x', 2)];
    })(),
    { a: { x: 2 }, b: { x: 1 } },
  ],
])('%s', (_, document, operations, expected) => {
  expect(patched(document, operations)).toEqual(expected);
});

test.each<[string, unknown, unknown[]]>([
  ['removing what is not there', {}, [{ op: 'remove', path: '/a' }]],
  ['removing the whole document', {}, [{ op: 'remove', path: '' }]],
  ['moving what is not there', {}, [{ op: 'move', from: '/a', path: '/b' }]],
  ['moving a value into itself', { a: { b: {} } }, [{ op: 'move', from: '/a', path: '/a/b/c' }]],
  ['an index beyond the end', ['a'], [add('/2', 'b')]],
  ['a replacement behind the end', ['a'], [{ op: 'replace', path: '/1', value: 'b' }]],
  ['a replacement of the place behind the end', ['a'], [{ op: 'replace', path: '/-', value: 'b' }]],
  ['an index with a leading zero', ['a', 'b'], [{ op: 'test', path: '/01', value: 'b' }]],
  ['an index with a sign', ['a', 'b'], [{ op: 'remove', path: '/-1' }]],
  ['an index with an exponent', ['a', 'b'], [{ op: 'remove', path: '/1e0' }]],
  ['a name in a list', ['a'], [add('/length', 0)]],
  ['a way through a text', { a: 'text' }, [add('/a/b', 1)]],
  ['a way through null', { a: null }, [{ op: 'test', path: '/a/b', value: null }]],
  ['a path that does not begin with a slash', { a: 1 }, [{ op: 'remove', path: 'a' }]],
  ['a tilde without its number', { '~': 1 }, [{ op: 'remove', path: '/~' }]],
  ['an operation without a path', {}, [{ op: 'add', value: 1 }]],
  ['a test of something without a value', { a: 1 }, [{ op: 'test', path: '/a' }]],
  ['an operation that is null', {}, [null]],
  ['a copy without its origin', {}, [{ op: 'copy', path: '/a' }]],
  ['an unknown operation', {}, [{ op: 'explode', path: '/a' }]],
  ['an operation without a name', {}, [{ path: '/a', value: 1 }]],
])('%s fails', (_, document, operations) => {
  expect(() => patched(document, operations)).toThrow(PatchFailedError);
});

test.each([[{}], [null], ['x'], [[1]], [[[]]], [[{ op: 1 }]], [[{ op: 'add', path: [] }]]])(
  '%j is no patch',
  (value) => {
    expect(() => readJsonPatch(value)).toThrow(PatchFormError);
  },
);

test('a map of many members is not tested against many values without an end', () => {
  const map = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, 0]));
  expect(() =>
    patched({ map, other: { ...map } }, times(1000, { op: 'test', path: '/map', value: { ...map } })),
  ).toThrow('the tests look at more than');
});

test('a path of more steps than any kind has is refused, and not quoted whole', () => {
  const path = '/a'.repeat(100_000);
  expect(() => patched({}, [{ op: 'test', path, value: null }])).toThrow('path has more than 100 steps');
});

test('unknown members of operations are reported', () => {
  expect(readJsonPatch([add('/a', { b: 1 }), { ...add('/b', 1), colour: 'blue' }]).unknownMembers).toEqual([
    '[1].colour',
  ]);
});

test('numbers are compared by value, digit by digit', () => {
  const holds = (document: string, value: string): void =>
    void runSync(
      applyJsonPatch(
        parseJson(document).value,
        readJsonPatch([{ op: 'test', path: '/n', value: parseJson(value).value }]),
      ),
    );
  for (const same of ['9007199254740993', '-0', '1.0', '1e2']) expect(() => holds(`{"n":${same}}`, same)).not.toThrow();
  expect(() => holds('{"n":1}', '1.0')).not.toThrow();
  expect(() => holds('{"n":100}', '1e2')).not.toThrow();
  expect(() => holds('{"n":9007199254740993}', '9007199254740992')).toThrow(PatchFailedError);
});

test('__proto__ is plain data', () => {
  const document = JSON.parse('{"a":{"__proto__":{"x":1}}}') as unknown;
  expect(() => patched({}, [add('/__proto__/polluted', 1)])).toThrow(PatchFailedError);
  expect(() => patched({}, [add('/constructor/prototype/polluted', 1)])).toThrow(PatchFailedError);
  const result = patched(document, [add('/a/__proto__/polluted', 1), add('/__proto__', { polluted: 2 })]);
  expect(JSON.stringify(result)).toBe('{"a":{"__proto__":{"x":1,"polluted":1}},"__proto__":{"polluted":2}}');
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

describe('input that would block the event loop is rejected', () => {
  test('more than ten thousand operations', () => {
    const many = (count: number) => Array.from({ length: count }, () => ({ op: 'test', path: '', value: {} }));
    expect(patched({}, many(10_000))).toEqual({});
    expect(() => readJsonPatch(many(10_001))).toThrow(TooManyOperationsError);
  });

  test('copies that double a list again and again', () => {
    const double = { op: 'copy', from: '/a', path: '/a/-' };
    expect(() => patched({ a: ['x'] }, times(60, double))).toThrow(/copies/);
    expect(() => patched({ a: 'x'.repeat(2 ** 20) }, times(4, { op: 'copy', from: '/a', path: '/b' }))).toThrow(
      /copies/,
    );
  });

  test('insertions before the entries of a long list', () => {
    const entries = Array.from({ length: 100_000 }, (_, at) => at);
    expect(() => patched({ a: entries }, times(10_000, add('/a/0', 0)))).toThrow(/long lists/);
    expect(patched({ a: entries }, times(10_000, add('/a/-', 0)))).toMatchObject({ a: { length: 110_000 } });
  });
});

describe(`${rounds} random patches`, () => {
  test(
    'do what the model does, and leave the document and the patch as they were',
    () => {
      let successes = 0;
      assert(
        property(anyMap, array(anyOperation, { minLength: 1, maxLength: 3 }), (document, chosen) => {
          const operations = chosen.map((one) => operationOn(document, one));
          const before = JSON.stringify([document, operations]);
          const expected = patchedByModel(document, operations);
          const actual = outcome(document, operations);
          if (!isDeepStrictEqual(actual, expected))
            throw new Error(`${before}: ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
          if (JSON.stringify([document, operations]) !== before) throw new Error(`${before}: changed in place`);
          if (actual) successes += 1;
        }),
        { numRuns: rounds, seed: 6902 },
      );
      expect(successes).toBeGreaterThan(rounds / 4); // else most patches would only have shown that they fail
    },
    patienceMs,
  );

  function outcome(document: unknown, operations: unknown[]): { result: unknown } | undefined {
    try {
      return { result: patched(document, operations) };
    } catch (error) {
      if (error instanceof PatchFailedError) return undefined;
      throw error;
    }
  }

  /** A number is one of the members that are there, most of the time; a name may be of none. */
  const anySteps = array(oneof({ weight: 5, arbitrary: nat(7) }, { weight: 1, arbitrary: anyName }), { maxLength: 4 });
  type Steps = readonly (number | string)[];

  const anyOperation = record({
    op: constantFrom('add', 'add', 'replace', 'remove', 'move', 'copy', 'test'),
    path: anySteps,
    from: anySteps,
    value: anyValue,
    isHeld: oneof(constant(true), boolean()),
  });
  type Operation = typeof anyOperation extends Arbitrary<infer T> ? T : never;

  function operationOn(document: unknown, { op, isHeld, ...given }: Operation): Record<string, unknown> {
    const [path, from] = [pointerTo(document, given.path), pointerTo(document, given.from)];
    if (op === 'remove') return { op, path };
    if (op === 'move' || op === 'copy') return { op, from, path };
    return { op, path, value: op === 'test' && isHeld ? valueAt(document, path) : given.value };
  }

  /** Ends at what has no members. */
  function pointerTo(document: unknown, steps: Steps): string {
    let pointer = '';
    let value = document;
    for (const step of steps) {
      if (typeof value !== 'object' || value === null) break;
      const known = Object.keys(value);
      const all = known.length > 0 ? known : names;
      const name = typeof step === 'string' ? step : requireValue(all[step % all.length]);
      pointer += `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      value = Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
    }
    return pointer;
  }

  function valueAt(document: unknown, pointer: string): unknown {
    const steps = pointer.split('/').slice(1);
    const found = steps.reduce<unknown>((value, step) => {
      const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
      return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : null;
    }, document);
    return found ?? null;
  }
});
