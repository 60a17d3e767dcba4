#!/usr/bin/env node
// npm test: everything. npm test -- PATTERN: the jest tests of the files that match, and nothing else.
import { wasInterrupted } from './child.mjs';
import { runConformance } from './conformance.mjs';
import { olderSeries, provisionEtcd, provisionEtcdctl, provisionOlderEtcd } from './etcd.mjs';
import { nothing, reportSkipped, reportSlowest, runJest, together } from './jest.mjs';
import { prepare } from './prepare.mjs';
import { Failure, main } from './project.mjs';
import { buildRooms } from './rooms.mjs';
import { alone, onBothEtcds, workers } from './test-plan.mjs';

await main((patterns) => (patterns.length > 0 ? runMatching(patterns) : runAll()));

async function runMatching(patterns) {
  const { tools } = await testTools();
  return report(await runJest(tools, patterns));
}

/**
 * First what may run beside each other, then what would be disturbed by that, and in the end, on an older etcd, what
 * depends on etcd. The conformance kit has one client and waits for each answer, so it runs on both etcds at once.
 */
async function runAll() {
  const { tools, etcd } = await testTools();
  const runs = [];
  const phase = async (name, work) => {
    if (wasInterrupted()) throw new Failure('Interrupted.');
    console.log(`\n— ${name}`);
    const beganMs = performance.now();
    runs.push(...(await work()));
    console.log(`(${((performance.now() - beganMs) / 1000).toFixed(0)} s)`);
  };

  let older;
  await phase('tests beside each other', async () => {
    const tests = runJest(tools, [], [`--maxWorkers=${workers}`, ...ignoring(alone)]);
    older = provisionOlderEtcd(etcd); // fetched while they run
    return [await tests];
  });
  await phase('tests that run alone', async () => [await runJest(tools, alone, ['--runInBand'])]);
  const conformance = [];
  await phase(`conformance, and tests on etcd ${olderSeries}`, async () => {
    const olderTools = older.etcd && { ...tools, env: { ...tools.env, ...variablesOf(older) } };
    const cases = [
      runConformance(tools, 'conformance'),
      ...(olderTools ? [runConformance(olderTools, 'conformance-older-etcd')] : []),
    ];
    const tests = olderTools
      ? runJest(olderTools, onBothEtcds, ['--maxWorkers=1'])
      : { ...nothing, skipped: onBothEtcds.map((file) => `${file}: ${older.reason}`) };
    const [done, ...results] = await Promise.all([tests, ...cases]);
    conformance.push(...results);
    return [done];
  });
  return report(together(runs), conformance);
}

async function testTools() {
  const { node, env } = prepare();
  const etcd = await provisionEtcd();
  const tools = { node, env: { ...env, ...variablesOf({ etcd, etcdctl: await provisionEtcdctl(etcd) }) } };
  buildRooms(tools); // tests that start clusters run what is built
  return { tools, etcd };
}

const variablesOf = ({ etcd, etcdctl }) => ({ ETCD_BIN: etcd, ...(etcdctl && { ETCDCTL_BIN: etcdctl }) });

const ignoring = (patterns) => ['/node_modules/', ...patterns].map((pattern) => `--testPathIgnorePatterns=${pattern}`);

function report(tests, conformance = []) {
  reportSlowest(tests.files);
  console.log('');
  reportSkipped(tests.skipped);
  console.log(`tests        ${tests.passed} passed, ${tests.failed} failed`);
  const cases = together(conformance.filter((one) => one !== undefined));
  if (conformance.includes(undefined)) console.log('conformance  not run (there is no ../shared/conformance)');
  else if (conformance.length > 0)
    console.log(`conformance  ${cases.passed} passed, ${cases.failed} failed (required cases)`);
  const failed = tests.failed + cases.failed;
  const skipped = tests.skipped.length > 0 ? `${tests.skipped.length} skipped (reasons above); ` : '';
  // The last line is read by programs.
  console.log(`${skipped}${tests.passed + cases.passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}
