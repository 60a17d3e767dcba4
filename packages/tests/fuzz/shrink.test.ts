import { expect, test } from '@jest/globals';
import { shrink } from './shrink.ts';

const all = Array.from({ length: 400 }, (_, at) => at);
const containing =
  (...needed: readonly number[]) =>
  async (numbers: readonly number[]): Promise<boolean> =>
    needed.every((number) => numbers.includes(number));

test.each([[[137]], [[0]], [[399]], [[3, 4]], [[0, 200, 399]]])('many inputs shrink to %j', async (needed) => {
  expect(await shrink(all, containing(...needed), 1_000)).toEqual(needed);
});

test('a failure that does not repeat is not shrunk', async () => {
  expect(await shrink(all, async () => false, 1_000)).toBeUndefined();
});

test('the limit of runs is respected, and the result still fails', async () => {
  let runs = 0;
  const fails = containing(3, 77, 200, 301);
  const left = await shrink(all, (numbers) => (runs++, fails(numbers)), 20);
  expect(runs).toBeLessThanOrEqual(21);
  expect(await fails(left ?? [])).toBe(true);
});
