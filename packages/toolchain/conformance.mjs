import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { spawn } from 'node:child_process';
import { handSignalsTo, outputOf } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { nothing } from './jest.mjs';
import { cache, Failure, root, shared } from './project.mjs';

const kit = path.join(shared, 'conformance', 'run.mjs');
const expectations = path.join(root, 'packages', 'tests', 'conformance', 'expected.json');

/** What the recorded conversations need of the server they are held with. */
const replicaFlags = [
  '--',
  '--feature-gates=ShardedListAndWatch=true',
  // They were recorded of a kube-apiserver alone, without a controller manager.
  '--controllers=-garbage-collector,-validatingadmissionpolicy-status-controller',
];

/**
 * Holds the recorded conversations with a cluster of its own, all of them, and judges those that are required by now.
 * Everything lies in `.cache/NAME` meanwhile. Undefined when the kit is not there.
 */
export async function runConformance(tools, name) {
  if (!fs.existsSync(kit)) return undefined;
  const home = path.join(cache, name);
  try {
    const results = await withCluster(tools, home, replicaFlags, ({ front }) => converse(tools, home, front.url));
    console.log(`\nConformance (${outputOf(tools.env.ETCD_BIN, ['--version'])?.split('\n')[0]})`);
    return judge(results, JSON.parse(fs.readFileSync(expectations, 'utf8')));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    console.error(error.message);
    return { ...nothing, failed: 1 };
  }
}

async function converse({ node, env }, home, server) {
  const results = path.join(home, 'conformance.json');
  const log = path.join(home, 'conformance.log');
  const token = fs.readFileSync(path.join(home, 'admin.token'), 'utf8');
  const args = [kit, '--server', server, '--token', token, '--ca', path.join(home, 'ca.crt'), '--json', results];
  // Cases that are not required yet fail in great number; they go to a file.
  const child = spawn(node, args, { cwd: root, env, stdio: ['ignore', fs.openSync(log, 'w'), 'inherit'] });
  const release = handSignalsTo(child);
  await once(child, 'exit'); // its code only says whether every case held
  release();
  if (!fs.existsSync(results)) throw new Failure(`The conformance kit ended without results, see ${log}`);
  console.log(`(every answer that differs: ${path.relative(root, log)})`);
  return JSON.parse(fs.readFileSync(results, 'utf8')).results;
}

/** `required` holds regular expressions over "area: case name". */
function judge(results, { required }) {
  const isRequired = ({ id }) => required.some((pattern) => new RegExp(pattern).test(id));
  const holds = ({ problems }) => problems.length === 0;

  for (const [area, cases] of byArea(results)) {
    const asked = cases.filter(isRequired);
    const of = asked.length > 0 ? `, required ${asked.filter(holds).length} of ${asked.length}` : '';
    console.log(`  ${area.padEnd(22)} ${cases.filter(holds).length} of ${cases.length}${of}`);
  }
  const asked = results.filter(isRequired);
  for (const { id, problems } of asked.filter((result) => !holds(result))) {
    console.log(`FAIL  ${id}\n   ${problems.join('\n   ')}`);
  }
  const idle = required.filter((pattern) => !results.some(({ id }) => new RegExp(pattern).test(id)));
  for (const pattern of idle) console.log(`FAIL  no case matches ${pattern}`);
  const ahead = results.filter((result) => holds(result) && !isRequired(result)).length;
  console.log(
    `  all: ${results.filter(holds).length} of ${results.length} cases hold, ${ahead} of them not required yet`,
  );
  const passed = asked.filter(holds).length;
  return { ...nothing, passed, failed: asked.length - passed + idle.length };
}

function byArea(results) {
  const areas = new Map();
  for (const result of results) {
    const area = result.id.split(':')[0];
    areas.set(area, [...(areas.get(area) ?? []), result]);
  }
  return [...areas].sort(([a], [b]) => (a < b ? -1 : 1));
}
