#!/usr/bin/env node
// npm test: everything. npm test -- PATTERN: the jest tests of the files that match, and nothing else.
import { wasInterrupted } from './child.mjs';
import { runConformance } from './conformance.mjs';
import { provisionEtcd, provisionEtcdctl } from './etcd.mjs';
import { runJest } from './jest.mjs';
import { prepare } from './prepare.mjs';
import { Failure, main } from './project.mjs';

await main(async (patterns) => {
  const { node, env } = prepare();
  const ETCD_BIN = await provisionEtcd();
  const ETCDCTL_BIN = await provisionEtcdctl();
  const tools = { node, env: { ...env, ETCD_BIN, ...(ETCDCTL_BIN && { ETCDCTL_BIN }) } };
  const tests = await runJest(tools, patterns);
  if (wasInterrupted()) throw new Failure('Interrupted.');
  const cases = patterns.length > 0 ? undefined : await runConformance(tools);

  console.log(`\ntests        ${tests.passed} passed, ${tests.failed} failed`);
  if (cases) console.log(`conformance  ${cases.passed} passed, ${cases.failed} failed (required cases)`);
  const failed = tests.failed + (cases?.failed ?? 0);
  // The last line is read by programs.
  console.log(`${tests.passed + (cases?.passed ?? 0)} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
});
