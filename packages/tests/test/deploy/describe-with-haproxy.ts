import { describe } from '@jest/globals';

const found = process.env.HAPROXY_BIN !== undefined;
const group = found ? describe : describe.skip;

/** A group of tests that is skipped where there is no HAProxy. The end of `npm test` tells how many were. */
export function describeWithHaproxy(name: string, tests: () => void): void {
  group(found ? name : `skipped: there is no haproxy; ${name}`, tests);
}
