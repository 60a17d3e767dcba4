#!/usr/bin/env node
// npm run coverage [-- PATTERN]: which part of each package's sources the tests run, as a Markdown table. With a pattern,
// of the packages that have the matching tests.
import fs from 'node:fs';
import path from 'node:path';
import { listTests, runJest, withoutLeaks } from './jest.mjs';
import { cache, main, root } from './project.mjs';
import { measuringTests, v8Tests, workers } from './test-plan.mjs';
import { excludeFiles, provisionTestTools } from './test-tools.mjs';

const folder = path.join(cache, 'coverage');
const listedMax = 15;

await main(async (patterns) => {
  const { tools } = await provisionTestTools(patterns);
  const { failed } = await runJest({ ...tools, nodeFlags: [withoutLeaks] }, patterns, [
    ...[`--maxWorkers=${workers}`, ...excludeFiles([...measuringTests, v8Tests])],
    // Jest's runtime counts what each test file runs; the native one would share its counters between files.
    `--env=${path.join(root, 'packages', 'toolchain', 'isolated-environment.mjs')}`,
    ...['--coverage', '--coverageProvider=v8', '--coverageReporters=json-summary', `--coverageDirectory=${folder}`],
    ...[...measuredPackages(tools, patterns).map((name) => `packages/${name}/src/**/*.ts`), '!**/*.test.ts'].map(
      (files) => `--collectCoverageFrom=${files}`,
    ),
  ]);
  const { total, ...files } = JSON.parse(fs.readFileSync(path.join(folder, 'coverage-summary.json'), 'utf8'));
  report(
    total,
    Object.entries(files).map(([file, counts]) => ({ ...counts, file: path.relative(root, file) })),
  );
  return failed === 0 ? 0 : 1;
});

/** The tests of `tests` run the sources of all packages. */
function measuredPackages(tools, patterns) {
  const names = new Set(listTests(tools, patterns).map((file) => path.relative(root, file).split(path.sep)[1]));
  return names.has('tests') ? ['*'] : [...names];
}

/** What servers in processes of their own run is not counted, so entry points look untested. */
function report(total, files) {
  const row = (name, of) =>
    console.log(`| ${name.padEnd(12)} | ${shareOf(of, 'lines')} | ${shareOf(of, 'branches')} |`);
  console.log('\n| package      |    lines | branches |\n|---|---:|---:|');
  for (const [name, own] of Map.groupBy(files, ({ file }) => file.split('/')[1])) row(name, own);
  row('all', [total]);
  const missed = ({ lines }) => lines.total - lines.covered;
  const incomplete = files.filter((one) => missed(one) > 0).toSorted((a, b) => missed(b) - missed(a));
  console.log(`\nThe files with the most lines that no test runs`);
  for (const one of incomplete.slice(0, listedMax))
    console.log(`${`${missed(one)} of ${one.lines.total}`.padStart(12)}  ${one.file}`);
}

function shareOf(files, what) {
  const sum = (key) => files.reduce((so, file) => so + file[what][key], 0);
  return `${((100 * sum('covered')) / (sum('total') || 1)).toFixed(1)} %`.padStart(8);
}
