import { afterEach, expect, jest, test } from '@jest/globals';
import { LargeMap } from './large-map.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

test('it gets, replaces and deletes', () => {
  const map = new LargeMap<number>();
  for (let n = 0; n < 1_000; n++) map.set(`ns/account-${n}`, n);
  map.set('ns/account-7', -7);
  map.delete('ns/account-8');
  map.delete('ns/account-8');
  expect(map.size).toBe(999);
  expect(map.get('ns/account-7')).toBe(-7);
  expect(map.get('ns/account-8')).toBeUndefined();
});

test.each([
  ['numbered names', (n: number) => `n-${n % 100}/account-${n}`],
  ['a common suffix', (n: number) => `production/${n}-service-account`],
  ['generated names', (n: number) => `kube-system/replicaset-${((n * 7919) % 1_000_003).toString(36)}-x`],
])('no part of it grows large: %s', (_, keyOf) => {
  const set = jest.spyOn(Map.prototype, 'set');
  const map = new LargeMap<number>();
  const parts = new Map<unknown, number>();
  const count = 64_000;
  for (let n = 0; n < count; n++) map.set(keyOf(n), n);
  const used = [...set.mock.contexts] as Map<string, number>[];
  set.mockRestore();
  for (const part of new Set(used)) parts.set(part, part.size);
  expect(Math.max(...parts.values())).toBeLessThan(count / 20);
});
