import { describe, expect, test } from '@jest/globals';
import {
  applyIdPath,
  counterPath,
  type StoredVersion,
  type Owners,
  type Refusal,
  updates,
  type Values,
  type Write,
} from './history.ts';
import { refusalOf, resultOf } from './write-semantics.ts';

// Examples of the write semantics that the history checker relies on.

const colour = 'labels/colour';
const secret = 'secrets/one';
const own = applyIdPath('a');

const before: StoredVersion = {
  revision: 7,
  state: {
    uid: 'u',
    values: { [colour]: 'red', [secret]: '', [counterPath]: '3', [own]: 'before' },
    owners: { [updates]: [colour, counterPath, secret], a: [own, secret] },
  },
};

const change = { name: 'x', values: { [colour]: 'blue' }, expected: undefined };
const apply = { ...change, verb: 'apply', manager: 'a', force: false } as const;

describe('rejects', () => {
  test.each<[string, Write, StoredVersion | undefined, Refusal]>([
    ['a creation of an existing object', { verb: 'create', name: 'x', values: {} }, before, { result: 'exists' }],
    ['a deletion of a missing object', { verb: 'delete', name: 'x' }, undefined, { result: 'absent' }],
    ['a merge into a missing object', { ...change, verb: 'merge' }, undefined, { result: 'absent' }],
    ['a merge with an outdated revision', { ...change, verb: 'merge', expected: 6 }, before, { result: 'conflict' }],
    ['an increment of another number', { ...change, verb: 'count', counted: '2' }, before, { result: 'failed' }],
    [
      'an increment without the current number',
      { ...change, verb: 'count', counted: undefined },
      before,
      { result: 'failed' },
    ],
    [
      'a failed test before a conflict',
      { ...change, verb: 'count', counted: '2', expected: 6 },
      before,
      { result: 'failed' },
    ],
    ["an apply of other values than their owners'", apply, before, { result: 'owned', places: [colour] }],
    ['an apply with an outdated revision', { ...apply, force: true, expected: 6 }, before, { result: 'conflict' }],
  ])('%s', (_, action, found, refusal) => {
    expect(refusalOf(action, found)).toEqual(refusal);
  });

  test.each<[string, Write, StoredVersion | undefined]>([
    ['a merge with the current revision', { ...change, verb: 'merge', expected: 7 }, before],
    ['an increment of the current number', { ...change, verb: 'count', counted: '3' }, before],
    ['an apply of equal values', { ...apply, values: { [colour]: 'red' } }, before],
    ['a forced apply', { ...apply, force: true }, before],
    ['an apply of new values', { ...apply, values: { 'labels/new': 'x' } }, before],
    ['an apply of a missing object, whatever it expects', { ...apply, expected: 6 }, undefined],
  ])('but not %s', (_, action, found) => {
    expect(refusalOf(action, found)).toBeUndefined();
  });
});

describe('results in', () => {
  const rest = { [secret]: '', [counterPath]: '3', [own]: 'before' };
  const owners = { [updates]: [colour, counterPath, secret], a: [own, secret] };

  test.each<[string, Write, Values, Owners]>([
    [
      'a replacement: only the sent values',
      { ...change, verb: 'replace' },
      { [colour]: 'blue' },
      { [updates]: [colour] },
    ],
    [
      'a merge: the sent values and the existing ones',
      { ...change, verb: 'merge' },
      { ...rest, [colour]: 'blue' },
      owners,
    ],
    [
      'a strategic merge: a removed secret has no owners',
      { ...change, verb: 'strategic', removed: [secret] },
      { [counterPath]: '3', [own]: 'before', [colour]: 'blue' },
      { [updates]: [colour, counterPath], a: [own] },
    ],
    [
      'an increment: the next number',
      { ...change, verb: 'count', counted: '3' },
      { ...rest, [colour]: 'blue', [counterPath]: '4' },
      owners,
    ],
    [
      'an update of an applied value: its manager no longer owns it',
      { ...change, verb: 'merge', values: { [own]: 'otherwise' } },
      { ...rest, [colour]: 'red', [own]: 'otherwise' },
      { [updates]: [colour, counterPath, own, secret], a: [secret] },
    ],
    [
      'a forced apply: fields that are no longer applied are removed unless others own them, and conflicting fields change their owner',
      { ...apply, force: true },
      { [secret]: '', [counterPath]: '3', [colour]: 'blue' },
      { [updates]: [counterPath, secret], a: [colour] },
    ],
    [
      'an apply of equal values: both managers own them',
      { ...apply, values: { [own]: 'now', [colour]: 'red' } },
      { ...rest, [colour]: 'red', [own]: 'now' },
      { [updates]: [colour, counterPath, secret], a: [colour, own] },
    ],
  ])('%s', (_, action, values, expected) => {
    const { uid, ...result } = resultOf(action, before, 'new') ?? { uid: '', values: {}, owners: {} };
    const sorted = Object.entries(result.owners).map(([owner, places]) => [owner, [...places].sort()]);
    expect({ uid, values: result.values, owners: Object.fromEntries(sorted) }).toEqual({
      uid: 'u',
      values,
      owners: Object.fromEntries(Object.entries(expected).map(([owner, places]) => [owner, [...places].sort()])),
    });
  });

  test('no object after a deletion, and a new object if none existed', () => {
    expect(resultOf({ verb: 'delete', name: 'x' }, before, 'new')).toBeUndefined();
    expect(resultOf(apply, undefined, 'new')).toEqual({ uid: 'new', values: apply.values, owners: { a: [colour] } });
    expect(resultOf({ verb: 'create', name: 'x', values: {} }, undefined, 'new')).toEqual({
      uid: 'new',
      values: {},
      owners: {},
    });
  });
});
