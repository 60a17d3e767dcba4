import { expect, test } from '@jest/globals';
import { Budget } from './memory-budget.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('what waits for room gets it in its order, as far as there is some, and what is abandoned is passed over', async () => {
  const outer = new Budget(100);
  const inner = new Budget(50, outer);
  inner.take(50);
  const served: number[] = [];
  let isAbandoned = false;
  for (const [at, abandoned] of [false, true, false, false].entries())
    void inner
      .room(() => abandoned && isAbandoned)
      .then(() => {
        served.push(at);
        if (!abandoned) inner.take(25);
      });
  await turn();
  expect(served).toEqual([]);
  isAbandoned = true;
  inner.giveBack(50);
  await turn();
  expect(served).toEqual([0, 1, 2]);
  inner.giveBack(25);
  await turn();
  expect(served).toEqual([0, 1, 2, 3]);
  expect([inner.bytes, outer.bytes]).toEqual([50, 50]);
});

test('a budget with room waits for the one around it', async () => {
  const outer = new Budget(100);
  const [one, other] = [new Budget(100, outer), new Budget(100, outer)];
  one.take(100);
  let served = false;
  void other.room(() => false).then(() => (served = true));
  await turn();
  expect([served, outer.isAwaited]).toEqual([false, true]);
  one.giveBack(1);
  await turn();
  expect([served, outer.isAwaited]).toEqual([true, false]);
});
