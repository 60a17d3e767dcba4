import fs from 'node:fs';
import path from 'node:path';
import { reportSkipped, reportSlowest, runJest } from './jest.mjs';
import { root } from './project.mjs';
import { provisionTestTools } from './test-tools.mjs';

const runMaxMs = 6 * 3_600_000;

/**
 * Runs test files one by one, with the counts for which continuous integration has no time. Returns the exit code.
 * @param {readonly string[]} files
 */
export async function runWithFullCounts(files) {
  const { tools } = await provisionTestTools([...files]);
  const full = { ...tools, env: { ...tools.env, SOAK: '1' } };
  const {
    passed,
    failed,
    skipped,
    files: results,
  } = await runJest(full, [...files], ['--runInBand', '--runTestsByPath'], runMaxMs);
  reportSlowest(results);
  console.log('');
  reportSkipped(skipped);
  // Programs parse the last line.
  console.log(`${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  return failed === 0 ? 0 : 1;
}

/**
 * The test files below `packages` whose path matches each of the patterns.
 * @param {readonly string[]} patterns
 */
export function findTests(patterns) {
  return fs
    .readdirSync(path.join(root, 'packages'), { encoding: 'utf8', recursive: true })
    .map((file) => path.join('packages', file))
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .filter((file) => patterns.every((pattern) => new RegExp(pattern).test(file)));
}
