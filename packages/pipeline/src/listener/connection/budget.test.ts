import { expect, test } from '@jest/globals';
import { Budget } from './budget.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('waiters get space in order, and abandoned ones are skipped', async () => {
  const outer = new Budget(100);
  const inner = new Budget(50, outer);
  inner.acquire(50);
  const served: number[] = [];
  let isAbandoned = false;
  for (const [at, abandoned] of [false, true, false, false].entries())
    void inner
      .waitForSpace('ann', () => abandoned && isAbandoned)
      .then(() => {
        served.push(at);
        if (!abandoned) inner.acquire(25);
      });
  await turn();
  expect(served).toEqual([]);
  isAbandoned = true;
  inner.release(50);
  await turn();
  expect(served).toEqual([0, 1, 2]);
  inner.release(25);
  await turn();
  expect(served).toEqual([0, 1, 2, 3]);
  expect([inner.used, outer.used]).toEqual([50, 50]);
});

test('a nested budget waits for the outer one', async () => {
  const outer = new Budget(100);
  const [one, other] = [new Budget(100, outer), new Budget(100, outer)];
  one.acquire(100);
  let served = false;
  void other.waitForSpace('ann', () => false).then(() => (served = true));
  await turn();
  expect([served, outer.hasWaiters]).toEqual([false, true]);
  one.release(1);
  await turn();
  expect([served, outer.hasWaiters]).toEqual([true, false]);
});
