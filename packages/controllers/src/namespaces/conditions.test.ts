import { expect, test } from '@jest/globals';
import { conditionsAfter } from './conditions.ts';
import type { Content } from './content.ts';

const nothing: Content = {
  remaining: new Map(),
  finalizers: new Map(),
  failures: [],
  unreadable: 0,
  isWorthRetry: false,
};

test('a message names a few finalizers and the number of others', () => {
  const finalizers = new Map(Array.from({ length: 100_000 }, (_, at) => [`example.com/f-${at}`, 1]));
  const conditions = conditionsAfter([], { ...nothing, finalizers }, '2026-01-01T00:00:00Z');
  const message = conditions.find(({ type }) => type === 'NamespaceFinalizersRemaining')?.message ?? '';
  expect(message).toMatch(/example\.com\/f-0 in 1 resource instances, .*, and 99980 more$/);
  expect(message.length).toBeLessThan(2_000);
});

test('a time changes only with its status, and conditions of others stay', () => {
  const others = [{ type: 'Mine', status: 'True', lastTransitionTime: null }];
  const held = { ...nothing, remaining: new Map([['events.', 2]]) };
  const first = conditionsAfter(others, held, '2026-01-01T00:00:00Z');
  const second = conditionsAfter(first, { ...nothing, remaining: new Map([['events.', 1]]) }, '2026-01-01T00:01:00Z');
  const third = conditionsAfter(second, nothing, '2026-01-01T00:02:00Z');
  const timeOf = (conditions: typeof first) =>
    conditions.find(({ type }) => type === 'NamespaceContentRemaining')?.lastTransitionTime;
  expect([first, second, third].map(timeOf)).toEqual([
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:02:00Z',
  ]);
  expect(third[0]).toEqual(others[0]);
});
