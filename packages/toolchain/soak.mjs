#!/usr/bin/env node
// npm run soak: runs the tests with repetition counts that are too long for continuous integration. Arguments after
// `--` are patterns that select tests.
import fs from 'node:fs';
import path from 'node:path';
import { provisionEtcd, provisionEtcdctl } from './etcd.mjs';
import { reportSlowest, runJest } from './jest.mjs';
import { prepare } from './prepare.mjs';
import { main, root } from './project.mjs';
import { buildPackages } from './packages.mjs';

/** The import of tests that have two repetition counts. */
const countsOf = /from '@cluster-apiserver\/testkit\/soak'/;
const soakMaxMs = 6 * 3_600_000;

await main(async (patterns) => {
  const { node, env } = prepare();
  const ETCD_BIN = await provisionEtcd();
  const ETCDCTL_BIN = await provisionEtcdctl(ETCD_BIN);
  const tools = { node, env: { ...env, ETCD_BIN, ...(ETCDCTL_BIN && { ETCDCTL_BIN }), SOAK: '1' } };
  buildPackages(tools);
  const chosen = testsWithCounts().filter((file) => patterns.every((pattern) => new RegExp(pattern).test(file)));
  const tests = await runJest(tools, chosen, ['--runInBand', '--runTestsByPath'], soakMaxMs);
  reportSlowest(tests.files);
  console.log(`${tests.passed} passed, ${tests.failed} failed`);
  return tests.failed === 0 ? 0 : 1;
});

function testsWithCounts() {
  return fs
    .readdirSync(path.join(root, 'packages'), { recursive: true })
    .map((file) => path.join('packages', file))
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .filter((file) => countsOf.test(fs.readFileSync(path.join(root, file), 'utf8')));
}
