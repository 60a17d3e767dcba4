import { expect, test } from '@jest/globals';
import { chain, firstOf, settle } from './index.ts';

test('a value that is no promise is used at once', () => {
  expect(chain(1, (value) => value + 1)).toBe(2);
  expect(
    settle(
      (given) => given + 1,
      1,
      (value, given) => `${value} ${given}`,
      String,
    ),
  ).toBe('2 1');
});

test('a promise is waited for', async () => {
  expect(await chain(Promise.resolve(1), (value) => value + 1)).toBe(2);
  expect(
    await settle(
      async (given) => given + 1,
      1,
      (value, given) => `${value} ${given}`,
      String,
    ),
  ).toBe('2 1');
});

test.each<[string, () => number | Promise<number>]>([
  [
    'throws',
    () => {
      throw new Error('broken');
    },
  ],
  ['rejects', () => Promise.reject(new Error('broken'))],
])('work that %s goes on with its error', async (_, work) => {
  expect(
    await settle(
      work,
      7,
      () => 'done',
      (error, given) => `${String(error)} of ${given}`,
    ),
  ).toBe('Error: broken of 7');
});

test.each<[string, () => number | Promise<number>]>([
  ['at once', () => 1],
  ['late', async () => 1],
])('an error of what comes after the work, %s, is not one of the work', async (_, work) => {
  const later = (): never => {
    throw new Error('later');
  };
  await expect((async () => settle(work, 7, later, () => 'failed'))()).rejects.toThrow('later');
});

test.each<[string, (number | undefined)[], boolean]>([
  ['at once', [undefined, 1, 2], false],
  ['later', [undefined, 1, 2], true],
  ['never', [undefined, undefined], true],
])('items are tried until one has an answer: %s', async (_, answers, waits) => {
  const tried: number[] = [];
  const found = firstOf([...answers.keys()], (item) => {
    tried.push(item);
    return waits ? Promise.resolve(answers[item]) : answers[item];
  });
  expect(found instanceof Promise).toBe(waits);
  expect(await found).toBe(answers.find((answer) => answer !== undefined));
  expect(tried).toEqual([0, 1]);
});
