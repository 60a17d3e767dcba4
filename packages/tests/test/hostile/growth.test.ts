/** @jest-environment ./packages/toolchain/isolated-environment.mjs */
import { describe, expect, test } from '@jest/globals';
import { type Case, growth, growthMax, numbers, secrets } from './growth.ts';

/** Quadratic growth takes very long with the sizes of the other cases, and is visible with fewer elements. */
const smallestSquare = 100;

describe('the counter detects', () => {
  test.each<Case>([
    [
      'a linear search for each entry, as strategic merge once did',
      (n) => {
        const [before, change] = [secrets(n), secrets(n)] as { name: string }[][];
        return () => change?.map(({ name }) => before?.findIndex((entry) => JSON.stringify(entry.name) === name));
      },
    ],
    [
      'a list that is searched with includes',
      (n) => {
        const terms = numbers(n).map(String);
        return () => terms.filter((term) => !terms.includes(`${term}x`));
      },
    ],
    [
      'sets that are copied for each addition',
      (n) => () => numbers(n).reduce((sum, value) => new Set([...sum, value]), new Set<number>()),
    ],
  ])('%s', (_, prepare) => {
    expect(growth(prepare, smallestSquare)).toBeGreaterThan(4 * growthMax);
  });
});
