import { describe } from '@jest/globals';

/** A group of tests that is skipped unless the condition holds. `npm test` prints the reason and the number of skipped tests. */
export function describeIf(condition: boolean, name: string, reasonToSkip: string, tests: () => void): void {
  const group = condition ? describe : describe.skip;
  group(condition ? name : `skipped: ${reasonToSkip}; ${name}`, tests);
}
