import { expect, test } from '@jest/globals';
import { DeadlineError } from '@cluster-apiserver/testkit/repeatable-errors';
import type { Operation } from './history.ts';
import { requireResponses } from './response-times.ts';

// Much longer than all delays of the test machine, which are tolerated as well.
const operation: Operation = {
  id: 'client-0-1',
  client: 'client-0',
  action: { verb: 'get', name: 'a/b' },
  invokedMs: 1_000_000,
  returnedMs: 1_060_000,
  outcome: { result: 'absent' },
};
const late = /^1 requests took too long:\n.*client-0-1/;
const judge =
  (...args: Parameters<typeof requireResponses>) =>
  (): void =>
    requireResponses(...args);

test('a slow request hangs unless etcd had no leader meanwhile', () => {
  expect(judge([operation])).toThrow(late);
  expect(judge([operation], { leaderless: [{ fromMs: 999_500, toMs: 1_059_000 }] })).not.toThrow();
  expect(judge([operation], { leaderless: [{ fromMs: 900_000, toMs: 999_000 }] })).toThrow(late);
  expect(judge([operation], { leaderless: [{ fromMs: 1_000_000, toMs: 1_020_000 }] })).toThrow(late);
});

test('elections of the usual length are within the limit already', () => {
  const elections = Array.from({ length: 30 }, (_, at) => ({
    fromMs: 1_000_000 + at * 2_000,
    toMs: 1_001_900 + at * 2_000,
  }));
  expect(judge([operation], { leaderless: elections })).toThrow(late);
});

test('a request without a response hangs however long etcd had no leader', () => {
  const unanswered: Operation = {
    ...operation,
    outcome: { result: 'no response', why: 'reset', connectedMs: undefined },
  };
  expect(judge([unanswered], { leaderless: [{ fromMs: 999_500, toMs: 1_059_000 }] })).toThrow(operation.id);
  // A verdict: the test runner must not repeat it.
  expect(judge([unanswered])).not.toThrow(DeadlineError);
  expect(judge([operation])).toThrow(DeadlineError);
});
