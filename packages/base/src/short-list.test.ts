import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { ShortList } from './index.ts';

test('items are in order of insertion, and each is deleted once', () => {
  const list = new ShortList<string>();
  for (const item of ['a', 'b', 'c']) list.add(item);
  list.delete('b');
  list.delete('b');
  expect([...list]).toEqual(['a', 'c']);
  expect(list.size).toBe(2);
});

test('all items are visited that were there at first', () => {
  const list = new ShortList<string>();
  for (const item of ['a', 'b', 'c']) list.add(item);
  const visited: string[] = [];
  for (const item of list) {
    list.delete(item);
    list.add(`${item}'`);
    visited.push(item);
  }
  expect(visited).toEqual(['a', 'b', 'c']);
  expect([...list]).toEqual(["a'", "b'", "c'"]);
});

test('items that came and went are not promoted by V8', () => {
  const itemNumbers = 1_000;
  const itemsPerStep = 100;
  const steps = 20;
  const list = new ShortList<readonly number[]>();
  let last: readonly number[] = [];
  const churn = (): void => {
    for (let i = 0; i < itemsPerStep; i++) {
      const item = Array.from({ length: itemNumbers }, (_, at) => at + 0.5);
      list.add(item);
      list.delete(last);
      last = item;
    }
  };
  // A Set keeps every fourth item, this list the last one of each step.
  const bytes = promotedBytes(steps, churn);
  expect(bytes).toBeLessThan((steps * itemsPerStep * itemNumbers * 8) / 20);
});
