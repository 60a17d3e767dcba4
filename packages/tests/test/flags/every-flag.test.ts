/** Each flag that docs/flags.md describes is given to an assembled server by some test, so that its wiring is exercised. */
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { flagGroups } from '@cluster-apiserver/server';

const tests = path.resolve(import.meta.dirname, '..');

test('each flag is given, as --NAME, to a server that a file of packages/tests/test starts', () => {
  const sources = fs
    .readdirSync(tests, { recursive: true, encoding: 'utf8' })
    .filter(
      (file) =>
        file.endsWith('.ts') && !file.startsWith(`reference${path.sep}`) && !file.startsWith(`chart${path.sep}`),
    )
    .map((file) => fs.readFileSync(path.join(tests, file), 'utf8'))
    .join('\n');
  const names = flagGroups.flatMap(([, flags]) => Object.keys(flags));
  expect(names.length).toBeGreaterThan(100);
  const untested = names.filter((name) => !new RegExp(`--${name}(?![\\w-])`).test(sources));
  expect(untested).toEqual([]);
});
