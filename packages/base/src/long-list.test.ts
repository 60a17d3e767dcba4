import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { LongList } from './index.ts';

test('items are in order of insertion, and each is deleted once', () => {
  const list = new LongList<string>();
  const entries = ['a', 'b', 'c', 'b'].map((item) => list.add(item));
  const [, second] = entries as [never, (typeof entries)[0]];
  list.delete(second);
  list.delete(second);
  expect([...list]).toEqual(['a', 'c', 'b']);
  expect(list.size).toBe(3);
});

test('items that came and went are not promoted by V8', () => {
  const itemNumbers = 1_000;
  const itemsPerStep = 100;
  const steps = 20;
  const list = new LongList<readonly number[]>();
  let last = list.add([]);
  const churn = (): void => {
    for (let i = 0; i < itemsPerStep; i++) {
      const entry = list.add(Array.from({ length: itemNumbers }, (_, at) => at + 0.5));
      list.delete(last);
      last = entry;
    }
  };
  // A Set of the items keeps every fourth, this list the last one of each step.
  expect(promotedBytes(steps, churn)).toBeLessThan((steps * itemsPerStep * itemNumbers * 8) / 20);
});
