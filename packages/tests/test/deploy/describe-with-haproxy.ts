import { describe } from '@jest/globals';

/** A group of tests that is skipped where there is no HAProxy. The end of `npm test` tells how many were. */
export function describeWithHaproxy(name: string, tests: () => void): void {
  if (process.env.HAPROXY_BIN) describe(name, tests);
  else describe.skip(`skipped: there is no haproxy; ${name}`, tests);
}
