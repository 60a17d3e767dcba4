import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { LongList } from './index.ts';

test('items that a LongList has deleted are not promoted by V8', () => {
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
