import fs from 'node:fs';
import path from 'node:path';
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { forwardSignalsTo, outputOf } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { noResults } from './jest.mjs';
import { withKubeApiserver } from './kube-apiserver.mjs';
import { mutateCases } from './mutated-cases.mjs';
import { cache, Failure, root } from './project.mjs';

const kit = path.join(root, 'conformance');
const mutantsFolder = path.join(cache, 'mutated-cases');
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

/**
 * Records on the kube-apiserver of KUBE_APISERVER_BIN what it answers to mutated cases, and replays that on a cluster. Cases
 * that broke off are left out, and those with an answer 500 there: here a mistake of a client is never one.
 */
export async function replayMutants(tools, seed, count) {
  const files = folders.filter((folder) => fs.existsSync(folder)).flatMap(readCases);
  fs.rmSync(mutantsFolder, { recursive: true, force: true });
  fs.mkdirSync(mutantsFolder, { recursive: true });
  for (const file of mutateCases(files, seed, count)) writeCases(file);
  const options = ['--cases', mutantsFolder, '--jobs', '6'];
  const recorded = await replayOnKubeApiserver(tools, 'mutants-recording', [...options, '--record']);
  const whole = new Set(recorded.filter(passes).map(({ id }) => id));
  const isWhole = (area, { name, steps }) =>
    whole.has(`${area}: ${name}`) && steps.every(({ expect }) => expect?.status !== 500);
  for (const { area, cases } of readCases(mutantsFolder))
    writeCases({ area, cases: cases.filter((one) => isWhole(area, one)) });
  return replayOnCluster(tools, 'mutants', options);
}

const readCases = (folder) =>
  fs.readdirSync(folder).map((name) => {
    const { cases } = JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8'));
    return { area: name.replace(/\.json$/, ''), cases };
  });

function writeCases({ area, cases }) {
  fs.writeFileSync(path.join(mutantsFolder, `${area}.json`), JSON.stringify({ area, cases }));
}

async function replay({ node, env }, home, options) {
  const results = path.join(home, 'conformance.json');
  const log = path.join(home, 'conformance.log');
  fs.rmSync(results, { force: true });
  const given = options.includes('--cases') ? [] : folders;
  const cases = given.filter((folder) => fs.existsSync(folder)).flatMap((folder) => ['--cases', folder]);
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
