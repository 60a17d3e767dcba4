import { describe } from '@jest/globals';

const found = process.env.HAPROXY_BIN !== undefined;
const group = found ? describe : describe.skip;

/** A group of tests that is skipped without HAProxy. `npm test` prints the number of skipped tests. */
export function describeWithHaproxy(name: string, tests: () => void): void {
  group(found ? name : `skipped: there is no haproxy; ${name}`, tests);
}
