#!/usr/bin/env node
// npm run coverage [-- PATTERN]: which part of each package's sources the tests run.
import fs from 'node:fs';
import path from 'node:path';
import { runJest } from './jest.mjs';
import { cache, main, root } from './project.mjs';
import { fuzzers, measuringTests, workers } from './test-plan.mjs';
import { excludeFiles, provisionTestTools } from './test-tools.mjs';

const folder = path.join(cache, 'coverage');
const listedMax = 15;

await main(async (patterns) => {
  const { tools } = await provisionTestTools(patterns);
  const { failed } = await runJest(tools, patterns, [
    ...[`--maxWorkers=${workers}`, ...excludeFiles([...measuringTests, ...fuzzers])],
    ...['--coverage', '--coverageProvider=v8', '--coverageReporters=json-summary', `--coverageDirectory=${folder}`],
    ...['packages/*/src/**/*.ts', '!**/*.test.ts'].map((files) => `--collectCoverageFrom=${files}`),
  ]);
  const { total, ...files } = JSON.parse(fs.readFileSync(path.join(folder, 'coverage-summary.json'), 'utf8'));
  report(
    total,
    Object.entries(files).map(([file, counts]) => ({ ...counts, file: path.relative(root, file) })),
  );
  return failed === 0 ? 0 : 1;
});

/** What servers in processes of their own run is not counted, so entry points look untested. */
function report(total, files) {
  console.log('\npackage        lines   branches');
  for (const [name, own] of Map.groupBy(files, ({ file }) => file.split('/')[1]))
    console.log(`${name.padEnd(14)} ${shareOf(own, 'lines')} ${shareOf(own, 'branches')}`);
  console.log(`${'all'.padEnd(14)} ${shareOf([total], 'lines')} ${shareOf([total], 'branches')}`);
  const missed = ({ lines }) => lines.total - lines.covered;
  console.log(`\nThe ${listedMax} files with the most lines that no test runs`);
  for (const one of files.toSorted((a, b) => missed(b) - missed(a)).slice(0, listedMax))
    console.log(`${`${missed(one)} of ${one.lines.total}`.padStart(12)}  ${one.file}`);
}

function shareOf(files, what) {
  const sum = (key) => files.reduce((so, file) => so + file[what][key], 0);
  return `${((100 * sum('covered')) / (sum('total') || 1)).toFixed(1)} %`.padStart(8);
}
