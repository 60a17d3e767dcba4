import { expect, test } from '@jest/globals';
import { chain, firstOf, observeCalls } from './chain.ts';

const later = <T>(value: T): Promise<T> => Promise.resolve(value);

test('what follows a value runs at once, and after a promise later', async () => {
  const double = (value: number): number => 2 * value;
  expect(chain(2, double)).toBe(4);
  expect(await chain(later(2), double)).toBe(4);
});

test.each<[string, (number | undefined)[], boolean]>([
  ['at once', [undefined, 1, 2], false],
  ['later', [undefined, 1, 2], true],
  ['never', [undefined, undefined], true],
])('items are tried until one has an answer: %s', async (_, answers, waits) => {
  const tried: number[] = [];
  const found = firstOf([...answers.keys()], (item) => {
    tried.push(item);
    return waits ? later(answers[item]) : answers[item];
  });
  expect(found instanceof Promise).toBe(waits);
  expect(await found).toBe(answers.find((answer) => answer !== undefined));
  expect(tried).toEqual([0, 1]);
});

test('calls are observed, whether they end at once, later, or with an error', async () => {
  const seen: unknown[] = [];
  let now = 0;
  const observed = observeCalls(
    (fails: boolean, waits: boolean): string | Promise<string> => {
      if (fails && !waits) throw new Error('at once');
      return waits ? (fails ? Promise.reject(new Error('later')) : later('later')) : 'at once';
    },
    {
      begin: () => ++now,
      end: (startMs, result, fails) => seen.push([startMs, result, fails]),
      fail: (startMs, error, fails) => seen.push([startMs, String(error), fails]),
    },
  );
  expect(observed(false, false)).toBe('at once');
  expect(await observed(false, true)).toBe('later');
  expect(() => observed(true, false)).toThrow('at once');
  await expect(observed(true, true)).rejects.toThrow('later');
  expect(seen).toEqual([
    [1, 'at once', false],
    [2, 'later', false],
    [3, 'Error: at once', true],
    [4, 'Error: later', true],
  ]);
});
