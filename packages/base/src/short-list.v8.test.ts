import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import { ShortList } from './index.ts';

test('items that a ShortList has deleted are not promoted by V8', () => {
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
