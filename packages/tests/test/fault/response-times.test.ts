import { expect, test } from '@jest/globals';
import type { Operation } from './history.ts';
import { findHanging } from './response-times.ts';

// Much longer than all delays of the test machine, which are tolerated as well.
const operation: Operation = {
  id: 'client-0-1',
  client: 'client-0',
  action: { verb: 'get', name: 'a/b' },
  invokedMs: 1_000_000,
  returnedMs: 1_060_000,
  outcome: { result: 'absent' },
};
const oneHanging = [expect.stringContaining(operation.id)];

test('a slow request hangs unless etcd had no leader meanwhile', () => {
  expect(findHanging([operation])).toEqual(oneHanging);
  expect(findHanging([operation], { leaderless: [{ fromMs: 999_500, toMs: 1_059_000 }] })).toEqual([]);
  expect(findHanging([operation], { leaderless: [{ fromMs: 900_000, toMs: 999_000 }] })).toEqual(oneHanging);
  expect(findHanging([operation], { leaderless: [{ fromMs: 1_000_000, toMs: 1_020_000 }] })).toEqual(oneHanging);
});

test('elections of the usual length are within the limit already', () => {
  const elections = Array.from({ length: 30 }, (_, at) => ({
    fromMs: 1_000_000 + at * 2_000,
    toMs: 1_001_900 + at * 2_000,
  }));
  expect(findHanging([operation], { leaderless: elections })).toEqual(oneHanging);
});

test('a request without a response hangs however long etcd had no leader', () => {
  const unanswered: Operation = {
    ...operation,
    outcome: { result: 'no response', why: 'reset', connectedMs: undefined },
  };
  expect(findHanging([unanswered], { leaderless: [{ fromMs: 999_500, toMs: 1_059_000 }] })).toEqual(oneHanging);
});
