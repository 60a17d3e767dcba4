#!/usr/bin/env node
// npm test: runs all tests. npm test -- PATTERN: runs only the Jest tests of the matching files.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { wasInterrupted } from './child.mjs';
import { runConformance } from './recorded-cases.mjs';
import { describeEtcd } from './etcd.mjs';
import { findTests } from './full-counts.mjs';
import { reportFailures, reportSkipped, reportSlowest, runJest, sumResults } from './jest.mjs';
import { cache, Failure, main, root } from './project.mjs';
import { groups, mayRepeat, measuringRows, measuringTests, onlyWithFaults, v8Tests, workers } from './test-plan.mjs';
import { excludeFiles, provisionTestTools } from './test-tools.mjs';
import { nextChange } from './watch-sources.mjs';

/** Orders the tests of each file; a failed file is repeated in the same order. */
const seed = randomInt(2 ** 31);

/** Where Node's debugger listens unless told otherwise. */
const inspectorPort = 9229;

/** Whether a tool that the scripts can fetch must be there; otherwise its tests are skipped, and counted. */
const requiresTools = Boolean(process.env.REQUIRE_TOOLS);

const usage = `usage: npm test [-- PATTERN … [OPTION …]]

Without arguments all tests, and the recorded conversations with kube-apiserver. A PATTERN is a regular expression over
paths of test files; --group=unit|etcd|cluster|alone|v8 [--shard=1/2] runs a part of them. With either, OPTIONs of Jest can follow, such as -t NAME, -u or --seed=NUMBER. --watch runs the tests again
after each change; --inspect-brk[=PORT] waits for a debugger.`;

await main(async (args) => {
  if (args.includes('--help')) console.log(usage);
  else return args.length > 0 ? runMatching(args) : runAll();
  return 0;
});

async function runMatching(args) {
  const own = args.filter((argument) => /^(--watch|--inspect-brk(=.*)?)$/.test(argument));
  const patterns = args.filter((argument) => !own.includes(argument)).flatMap(expandGroup);
  if (!own.includes('--watch')) return runOnce(patterns, own);
  while (!wasInterrupted()) {
    const next = nextChange(); // what changes during a run counts, too
    await runOnce(patterns, own);
    console.log('\nWaiting for a change; Ctrl-C ends.');
    console.log(`\n— ${await next}`);
  }
  return 0;
}

/** Patterns and options of a named group. */
function expandGroup(argument) {
  const name = /^--group=(.*)$/.exec(argument)?.[1];
  if (name === undefined) return [argument];
  if (!Object.hasOwn(groups, name))
    throw new Failure(`There is no group ${name}, only ${Object.keys(groups).join(', ')}.`);
  const { patterns, excluded, options = [] } = groups[name];
  return [...patterns, ...options, ...(excluded.length > 0 ? excludeFiles(excluded) : [])];
}

async function runOnce(args, own) {
  const { tools, missing } = await provisionTestTools(args);
  const inspecting = own.find((option) => option.startsWith('--inspect-brk'));
  if (inspecting) await requireFreePort(Number(inspecting.split('=')[1] ?? inspectorPort));
  // One process, which the debugger is connected to.
  const debugging = inspecting ? { nodeFlags: [inspecting], options: ['--runInBand'] } : {};
  const tests = await runJest({ ...tools, ...debugging }, args, debugging.options);
  // Jest reports tests that a pattern of names leaves out as skipped.
  const isByName = args.some((arg) => /^(-t|--testNamePattern)\b/.test(arg));
  requireTools(tests, missing);
  return report(isByName ? { ...tests, skipped: [] } : tests);
}

/** Node runs on without a debugger if the port is taken. */
async function requireFreePort(port) {
  const server = net.createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    throw new Failure(`Port ${port} is taken, perhaps by the debugger of a replica: --inspect-brk=PORT takes another.`);
  } finally {
    server.close();
  }
}

/**
 * First the parallel tests. Then the rows of tests that measure, beside the conformance kit. Finally a few files that
 * failed only because a process did not start or a time was not kept are repeated serially.
 */
async function runAll() {
  const { tools, etcd, missing } = await provisionTestTools();
  const others = [...measuringTests, ...onlyWithFaults, v8Tests];
  console.log(`The tests run on ${describeEtcd(etcd)}, those of each file in the order of the seed ${seed}.`);
  const parallel = await phase('parallel tests', () =>
    runGroup(tools, [], [`--maxWorkers=${workers}`, ...excludeFiles(others)]),
  );
  const [conformance, ...alone] = await phase('measuring tests and conformance', () =>
    Promise.all([
      runConformance(tools, 'conformance'),
      ...measuringRows.map((patterns) => runGroup(tools, patterns, ['--runInBand'])),
    ]),
  );
  const runs = [parallel, ...alone];
  const tests = sumResults(runs);
  tests.skipped.push(...onlyWithFaults.map(() => 'files that only npm run faults runs'));
  tests.skipped.push(...findTests([v8Tests]).map(() => 'files that only npm test -- --group=v8 runs'));
  requireTools(tests, missing);
  const failures = tests.files.filter(({ failed }) => failed > 0);
  if (!mayRepeat(failures)) return report(tests, [conformance]);
  const repeated = await phase('failed files, repeated serially', () => repeatAlone(tools, tests, failures));
  return report(repeated, [conformance]);
}

function requireTools(tests, missing) {
  if (!requiresTools || missing.length === 0) return;
  console.log(`FAIL  tools that could not be fetched: ${missing.join(', ')}`);
  tests.failed += missing.length;
}

/** Prints the name and the duration of a part of the run. */
async function phase(name, work) {
  if (wasInterrupted()) throw new Failure('Interrupted.');
  console.log(`\n— ${name}`);
  const beganMs = performance.now();
  const result = await work();
  console.log(`(${name}: ${((performance.now() - beganMs) / 1000).toFixed(0)} s)`);
  return result;
}

function runGroup(tools, patterns, options) {
  return runJest(tools, patterns, [...options, `--seed=${seed}`]);
}

/** The second result counts. What the first run reported is kept. */
async function repeatAlone(tools, tests, failures) {
  let { passed, failed, files } = tests;
  const flaky = [];
  for (const file of failures) {
    const log = path.join(cache, 'flaky', `${file.name.replaceAll(/[^\w.]/g, '-')}.log`);
    fs.mkdirSync(path.dirname(log), { recursive: true });
    fs.writeFileSync(log, file.message);
    const again = await runGroup(tools, [toPattern(file.name)], ['--runInBand']);
    passed += again.passed - file.passed;
    failed += again.failed - file.failed;
    files = [...files.filter((one) => one !== file), ...again.files];
    const what = `${file.failed} failed at first, ${again.failed} when repeated`;
    flaky.push(`${file.name}: ${what} (${path.relative(root, log)})`);
  }
  return { ...tests, passed, failed, files, flaky };
}

function toPattern(name) {
  return name.replaceAll('.', '\\.');
}

function report(tests, conformance = []) {
  reportSlowest(tests.files);
  console.log('');
  reportSkipped(tests.skipped);
  const cases = sumResults(conformance);
  reportFailures([...tests.files, ...cases.files]);
  for (const what of tests.flaky ?? []) console.log(`flaky        ${what}`);
  console.log(`tests        ${tests.passed} passed, ${tests.failed} failed`);
  if (conformance.length > 0)
    console.log(`conformance  ${cases.passed} passed, ${cases.failed} failed (required cases)`);
  const failed = tests.failed + cases.failed;
  // Programs parse the last line.
  console.log(`${tests.passed + cases.passed} passed, ${failed} failed, ${tests.skipped.length} skipped`);
  return failed === 0 ? 0 : 1;
}
