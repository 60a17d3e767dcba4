/** Which failed test files `npm test` may run once more, and its parts for several machines. */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { DeadlineError, StartError } from '@cluster-apiserver/testkit/repeatable-errors';

interface FailedFile {
  readonly name: string;
  /** As Jest reports them: with stack. */
  readonly failures: readonly string[];
}

const plan = path.resolve(import.meta.dirname, '..', '..', '..', 'toolchain', 'test-plan.mjs');

/** Asks in a process of its own: no package imports the toolchain. */
const ask = (expression: string): unknown => {
  const script = `import * as plan from '${plan}'; console.log(JSON.stringify(${expression}))`;
  return JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }));
};

const mayRepeat = (failed: readonly FailedFile[]): unknown => ask(`plan.mayRepeat(${JSON.stringify(failed)})`);

const late = new DeadlineError('timed out after 10 ms waiting for a leader').stack ?? '';
const notStarted = new StartError('the cluster did not start').stack ?? '';
const longTest = 'Error: thrown: "Exceeded timeout of 20000 ms for a test.\nAdd a timeout value to this test"';
const verdict = new Error('expect(received).toEqual(expected)').stack ?? '';
const file = (failures: readonly string[], name = 'packages/a/src/a.cluster.test.ts'): FailedFile => ({
  name,
  failures,
});

test.each([late, notStarted, longTest])('a file that failed by this alone may be repeated: %s', (failure) => {
  expect(mayRepeat([file([failure, failure])])).toBe(true);
});

test('a verdict is final, also beside a time that was not kept', () => {
  expect(mayRepeat([file([verdict])])).toBe(false);
  expect(mayRepeat([file([late, verdict])])).toBe(false);
  expect(mayRepeat([file([late]), file([verdict])])).toBe(false);
});

test('a test without other processes is never repeated, and neither are many files', () => {
  expect(mayRepeat([file([late], 'packages/a/src/a.test.ts')])).toBe(false);
  expect(mayRepeat(Array.from({ length: 4 }, () => file([late])))).toBe(false);
  expect(mayRepeat([])).toBe(false);
});

interface Group {
  readonly patterns: readonly string[];
  readonly excluded: readonly string[];
}

test('each test file is in one group, or only of npm run faults', () => {
  const groups = ask('plan.groups') as Readonly<Record<string, Group>>;
  const faults = ask('plan.onlyWithFaults') as readonly string[];
  const packages = path.resolve(import.meta.dirname, '..', '..', '..');
  const files = fs
    .globSync(['*/{src,test,fuzz}/**/*.test.ts'], { cwd: packages })
    .map((name) => path.join('packages', name));
  const matches = (patterns: readonly string[], name: string): boolean =>
    patterns.some((pattern) => new RegExp(pattern).test(name));
  const count = (name: string): number =>
    [...Object.values(groups), { patterns: faults, excluded: [] }].filter(
      ({ patterns, excluded }) => matches(patterns, name) && !matches(excluded, name),
    ).length;
  expect(files.length).toBeGreaterThan(500);
  expect(files.filter((name) => count(name) !== 1)).toEqual([]);
});
