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

// What the judge holds the server against has to be right by itself: so it is said once more, by examples.

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

describe('is refused', () => {
  test.each<[string, Write, StoredVersion | undefined, Refusal]>([
    ['a creation where something is', { verb: 'create', name: 'x', values: {} }, before, { result: 'exists' }],
    ['a deletion of nothing', { verb: 'delete', name: 'x' }, undefined, { result: 'absent' }],
    ['a merge into nothing', { ...change, verb: 'merge' }, undefined, { result: 'absent' }],
    ['a merge over another revision', { ...change, verb: 'merge', expected: 6 }, before, { result: 'conflict' }],
    ['counting on from another number', { ...change, verb: 'count', counted: '2' }, before, { result: 'failed' }],
    ['counting from nothing', { ...change, verb: 'count', counted: undefined }, before, { result: 'failed' }],
    [
      'a failed test before a conflict',
      { ...change, verb: 'count', counted: '2', expected: 6 },
      before,
      { result: 'failed' },
    ],
    ['an apply of what others have otherwise', apply, before, { result: 'owned', places: [colour] }],
    ['an apply over another revision', { ...apply, force: true, expected: 6 }, before, { result: 'conflict' }],
  ])('%s', (_, action, found, refusal) => {
    expect(refusalOf(action, found)).toEqual(refusal);
  });

  test.each<[string, Write, StoredVersion | undefined]>([
    ['a merge over the revision that it expects', { ...change, verb: 'merge', expected: 7 }, before],
    ['counting on from the number that is there', { ...change, verb: 'count', counted: '3' }, before],
    ['an apply of what others have likewise', { ...apply, values: { [colour]: 'red' } }, before],
    ['an apply by force', { ...apply, force: true }, before],
    ['an apply of what is new', { ...apply, values: { 'labels/new': 'x' } }, before],
    ['an apply of what is not there, whatever it expects', { ...apply, expected: 6 }, undefined],
  ])('and not %s', (_, action, found) => {
    expect(refusalOf(action, found)).toBeUndefined();
  });
});

describe('leads to', () => {
  const rest = { [secret]: '', [counterPath]: '3', [own]: 'before' };
  const owners = { [updates]: [colour, counterPath, secret], a: [own, secret] };

  test.each<[string, Write, Values, Owners]>([
    [
      'a replacement: only what was sent',
      { ...change, verb: 'replace' },
      { [colour]: 'blue' },
      { [updates]: [colour] },
    ],
    ['a merge: that and all there was', { ...change, verb: 'merge' }, { ...rest, [colour]: 'blue' }, owners],
    [
      'a strategic merge: a secret less, for all who own it',
      { ...change, verb: 'strategic', removed: [secret] },
      { [counterPath]: '3', [own]: 'before', [colour]: 'blue' },
      { [updates]: [colour, counterPath], a: [own] },
    ],
    [
      'counting: one more',
      { ...change, verb: 'count', counted: '3' },
      { ...rest, [colour]: 'blue', [counterPath]: '4' },
      owners,
    ],
    [
      'an update of what somebody applied: it is no longer theirs',
      { ...change, verb: 'merge', values: { [own]: 'otherwise' } },
      { ...rest, [colour]: 'red', [own]: 'otherwise' },
      { [updates]: [colour, counterPath, own, secret], a: [secret] },
    ],
    [
      'an apply by force: what is no longer applied goes, unless others own it, and what is taken leaves its owner',
      { ...apply, force: true },
      { [secret]: '', [counterPath]: '3', [colour]: 'blue' },
      { [updates]: [counterPath, secret], a: [colour] },
    ],
    [
      'an apply of the same as others: both own it',
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

  test('nothing, when it is deleted; and to an object of its own, when there was none', () => {
    expect(resultOf({ verb: 'delete', name: 'x' }, before, 'new')).toBeUndefined();
    expect(resultOf(apply, undefined, 'new')).toEqual({ uid: 'new', values: apply.values, owners: { a: [colour] } });
    expect(resultOf({ verb: 'create', name: 'x', values: {} }, undefined, 'new')).toEqual({
      uid: 'new',
      values: {},
      owners: {},
    });
  });
});
