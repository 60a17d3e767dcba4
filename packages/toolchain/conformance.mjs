import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { forwardSignalsTo, outputOf } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { noResults } from './jest.mjs';
import { cache, Failure, root, shared } from './project.mjs';

const kit = path.join(shared, 'conformance', 'run.mjs');
const expectations = path.join(root, 'packages', 'tests', 'conformance', 'expected.json');

/** Server flags that the recorded conversations require. */
const replicaFlags = [
  '--',
  '--feature-gates=ShardedListAndWatch=true',
  // The recording kube-apiserver ran without a controller manager.
  '--controllers=-garbage-collector,-validatingadmissionpolicy-status-controller',
];

/**
 * Replays all recorded conversations against a cluster in `.cache/NAME`, and evaluates the cases that are required so
 * far. Returns undefined if the conformance kit is missing.
 */
export async function runConformance(tools, name) {
  if (!fs.existsSync(kit)) return undefined;
  const home = path.join(cache, name);
  try {
    const results = await withCluster(tools, home, replicaFlags, ({ front }) => replay(tools, home, front.url));
    console.log(`\nConformance (${outputOf(tools.env.ETCD_BIN, ['--version'])?.split('\n')[0]})`);
    return evaluate(results, JSON.parse(fs.readFileSync(expectations, 'utf8')));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    console.error(error.message);
    return { ...noResults, failed: 1 };
  }
}

async function replay({ node, env }, home, server) {
  const results = path.join(home, 'conformance.json');
  const log = path.join(home, 'conformance.log');
  const token = fs.readFileSync(path.join(home, 'admin.token'), 'utf8');
  const args = [kit, '--server', server, '--token', token, '--ca', path.join(home, 'ca.crt'), '--json', results];
  // Many of the cases that are not required yet fail; they are logged to a file.
  const child = spawn(node, args, { cwd: root, env, stdio: ['ignore', fs.openSync(log, 'w'), 'inherit'] });
  const release = forwardSignalsTo(child);
  await once(child, 'exit'); // its exit code only says whether every case passed
  release();
  if (!fs.existsSync(results)) throw new Failure(`The conformance kit ended without results, see ${log}`);
  console.log(`(all differing responses: ${path.relative(root, log)})`);
  return JSON.parse(fs.readFileSync(results, 'utf8')).results;
}

/** `required` holds regular expressions over "area: case name". */
function evaluate(results, { required }) {
  const isRequired = ({ id }) => required.some((pattern) => new RegExp(pattern).test(id));
  const passes = ({ problems }) => problems.length === 0;

  for (const [area, cases] of byArea(results)) {
    const requiredCases = cases.filter(isRequired);
    const of =
      requiredCases.length > 0 ? `, required ${requiredCases.filter(passes).length} of ${requiredCases.length}` : '';
    console.log(`  ${area.padEnd(22)} ${cases.filter(passes).length} of ${cases.length}${of}`);
  }
  const requiredCases = results.filter(isRequired);
  for (const { id, problems } of requiredCases.filter((result) => !passes(result))) {
    console.log(`FAIL  ${id}\n   ${problems.join('\n   ')}`);
  }
  const unmatched = required.filter((pattern) => !results.some(({ id }) => new RegExp(pattern).test(id)));
  for (const pattern of unmatched) console.log(`FAIL  no case matches ${pattern}`);
  const ahead = results.filter((result) => passes(result) && !isRequired(result)).length;
  console.log(
    `  all: ${results.filter(passes).length} of ${results.length} cases pass, ${ahead} of them not required yet`,
  );
  const passed = requiredCases.filter(passes).length;
  return { ...noResults, passed, failed: requiredCases.length - passed + unmatched.length };
}

function byArea(results) {
  const areas = new Map();
  for (const result of results) {
    const area = result.id.split(':')[0];
    areas.set(area, [...(areas.get(area) ?? []), result]);
  }
  return [...areas].sort(([a], [b]) => (a < b ? -1 : 1));
}
