/** The source maps of the built packages name files that exist, so a debugger finds its breakpoints in an editor. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';

const packages = path.resolve(import.meta.dirname, '..', '..');

test.each(['server/dist/program.js', 'pipeline/dist/handlers/patch.js', 'devcluster/dist/main.js'])(
  'the sources of %s exist',
  (built) => {
    const map = path.join(packages, `${built}.map`);
    const { sources } = JSON.parse(fs.readFileSync(map, 'utf8')) as { sources: readonly string[] };
    const own = sources.filter((source) => !source.includes('/node_modules/'));
    expect(own.length).toBeGreaterThan(0);
    const missing = own.filter((source) => !fs.existsSync(path.resolve(path.dirname(map), source)));
    expect(missing).toEqual([]);
  },
);
