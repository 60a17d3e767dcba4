import fs from 'node:fs';
import path from 'node:path';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { forwardSignalsTo, outputOf } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { noResults } from './jest.mjs';
import { withKubeApiserver } from './kube-apiserver.mjs';
import { cache, Failure, root } from './project.mjs';

const kit = path.join(root, 'conformance');
/** Newer cases may be beside the checkout; they replace those of the same name. */
const folders = [path.join(kit, 'cases'), path.join(root, '..', 'shared', 'conformance', 'cases')];

/** What the recorded conversations require of this server: the recording kube-apiserver ran without a controller manager. */
const replicaFlags = [
  '--',
  '--feature-gates=ShardedListAndWatch=true',
  '--controllers=-certificatesigningrequest-cleaner-controller,-garbage-collector,-resourcequota-controller,-serviceaccount-token-controller,-serviceaccount-controller,-root-ca-certificate-publisher-controller,-validatingadmissionpolicy-status-controller',
];

/** The flags with which the cases were recorded, besides those of every kube-apiserver that is started here. */
const recordingFlags = [
  '--feature-gates=ShardedListAndWatch=true',
  '--anonymous-auth=false',
  '--enable-admission-plugins=NamespaceAutoProvision',
  // The next flag replaces the one that every kube-apiserver here has.
  '--disable-admission-plugins=ServiceAccount,NamespaceLifecycle',
];

/** Replays all cases against a cluster in `.cache/NAME`, and counts those that are required. */
export async function runConformance(tools, name) {
  try {
    const results = await replayOnCluster(tools, name, []);
    console.log(`\nConformance (${outputOf(tools.env.ETCD_BIN, ['--version'])?.split('\n')[0]})`);
    return evaluate(results);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    console.error(error.message);
    return { ...noResults, failed: 1 };
  }
}

/** Returns the results of the cases that `options` of the kit select. */
export function replayOnCluster(tools, name, options) {
  const home = path.join(cache, name);
  return withCluster(tools, home, replicaFlags, ({ front }) => {
    const token = fs.readFileSync(path.join(home, 'admin.token'), 'utf8');
    return replay(tools, home, [
      '--server',
      front.url,
      '--token',
      token,
      '--ca',
      path.join(home, 'ca.crt'),
      ...options,
    ]);
  });
}

/** The same on the kube-apiserver of KUBE_APISERVER_BIN. */
export function replayOnKubeApiserver(tools, name, options) {
  const home = path.join(cache, name);
  fs.mkdirSync(home, { recursive: true });
  return withKubeApiserver(tools, recordingFlags, ({ url, token }) =>
    replay(tools, home, ['--server', url, '--token', token, ...options]),
  );
}

async function replay({ node, env }, home, options) {
  const results = path.join(home, 'conformance.json');
  const log = path.join(home, 'conformance.log');
  fs.rmSync(results, { force: true });
  const cases = folders.filter((folder) => fs.existsSync(folder)).flatMap((folder) => ['--cases', folder]);
  const args = [path.join(kit, 'run.mjs'), ...cases, '--json', results, ...options];
  // Many of the cases that are not required yet fail; they are logged to a file.
  const child = spawn(node, args, { cwd: root, env, stdio: ['ignore', fs.openSync(log, 'w'), 'inherit'] });
  const release = forwardSignalsTo(child);
  await once(child, 'exit'); // its exit code only says whether every case passed
  release();
  if (!fs.existsSync(results)) throw new Failure(`The conformance kit ended without results, see ${log}`);
  console.log(`(all differing responses: ${path.relative(root, log)})`);
  return JSON.parse(fs.readFileSync(results, 'utf8')).results;
}

export const passes = ({ problems }) => problems.length === 0;

/** Prints the areas, and returns the counts of the required cases. */
function evaluate(results) {
  const { required } = JSON.parse(fs.readFileSync(path.join(kit, 'required.json'), 'utf8'));
  const isRequired = ({ id }) => required.some((pattern) => new RegExp(pattern).test(id));
  for (const [area, cases] of byArea(results)) {
    const requiredCases = cases.filter(isRequired);
    const of =
      requiredCases.length > 0 ? `, required ${requiredCases.filter(passes).length} of ${requiredCases.length}` : '';
    console.log(`  ${area.padEnd(28)} ${cases.filter(passes).length} of ${cases.length}${of}`);
  }
  const requiredCases = results.filter(isRequired);
  const failing = requiredCases.filter((result) => !passes(result));
  for (const { id, problems } of failing) console.log(`FAIL  ${id}\n   ${problems.join('\n   ')}`);
  const isMatched = (pattern) => results.some(({ id }) => new RegExp(pattern).test(id));
  const unmatched = required.filter((pattern) => !isMatched(pattern));
  for (const pattern of unmatched) console.log(`FAIL  no case matches ${pattern}`);
  const ahead = results.filter((result) => passes(result) && !isRequired(result)).length;
  console.log(
    `  all: ${results.filter(passes).length} of ${results.length} cases pass, ${ahead} of them not required yet`,
  );
  return {
    ...noResults,
    passed: requiredCases.length - failing.length,
    failed: failing.length + unmatched.length,
    files: failing.map(({ id, problems }) => ({ name: id, failed: 1, failures: problems })),
  };
}

export function byArea(results) {
  const areas = new Map();
  for (const result of results) {
    const area = result.id.split(':')[0];
    areas.set(area, [...(areas.get(area) ?? []), result]);
  }
  return [...areas].sort(([a], [b]) => (a < b ? -1 : 1));
}
