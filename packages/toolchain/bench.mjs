#!/usr/bin/env node
// npm run bench: measures a single replica, alternating with the kube-apiserver of KUBE_APISERVER_BIN. Arguments after
// `--` go to bench/run.mjs; `--help` lists them. `--save` keeps the figures in bench/results.json.
// npm run bench -- hostile: attacks the same replica, see packages/tests/bench/hostile.ts.
// npm run bench -- overload: offers it ten times what it sustains, see packages/tests/bench/overload.ts.
// npm run bench -- flood: floods it with events of one user, see packages/tests/bench/event-flood.ts.
// npm run bench -- steady: half an hour at 80 % of what it sustains, see packages/tests/bench/steady-load.ts.
// npm run bench -- sizing: what a replica and a load balancer take, for the table of docs/scaling.md. `--save` keeps the
// figures in bench/measured.json.
// npm run bench -- features: what features cost a request, for the table of docs/benchmarks.md. `--save` keeps the figures in
// bench/measured.json.
// npm run bench -- definitions: gives the same replica many custom resource definitions, and then the kube-apiserver of
// KUBE_APISERVER_BIN, see bench/definitions.mjs. `--save` keeps the figures of both in bench/measured.json.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { provisionHaproxy, provisionWrk } from './debian-programs.mjs';
import { provisionEtcd } from './etcd.mjs';
import { kubeApiserver, withKubeApiserver } from './kube-apiserver.mjs';
import { buildPackages } from './packages.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, root } from './project.mjs';

const kit = path.join(root, 'bench', 'run.mjs');
const results = path.join(root, 'bench', 'results.json');
const measured = path.join(root, 'bench', 'measured.json');
/** The kit gives the servers core 0; the load and the stores share core 1. */
const serverCore = '0';
const storeCore = '1';
/** Those of the table in docs/benchmarks.md. */
const savedDefinitions = 1_000;

/** One core, and its fastest configuration: it neither checks rights nor encrypts. */
const referenceSettings = {
  environment: ['GOMAXPROCS=1'],
  flags: ['--authorization-mode=AlwaysAllow', '--enable-admission-plugins=NamespaceAutoProvision'],
};
const ownSettings = ['RBAC', 'encryption with AES-GCM'];

const loads = { overload: 'overload.ts', flood: 'event-flood.ts', steady: 'steady-load.ts' };

await main(([first, ...rest]) => {
  if (first === 'hostile') return runHostile(rest);
  if (Object.hasOwn(loads, first ?? '')) return runLoad(loads[first], rest);
  if (first === 'sizing') return runSizing(rest);
  if (first === 'features') return runFeatures(rest);
  return first === 'definitions' ? runDefinitions(rest) : runKit(first === undefined ? [] : [first, ...rest]);
});

async function runHostile(args) {
  const { node, env } = prepare();
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const home = path.join(cache, 'bench-hostile');
  const bench = path.join('packages', 'tests', 'bench', 'hostile.ts');
  const options = ['--conditions=source', '--disable-warning=ExperimentalWarning'];
  if (args.includes('--list')) return run(node, [...options, bench, ...args], { env });
  return withCluster(tools, home, ['--replicas', '1'], ({ etcd: [etcd] }) => {
    if (!args.includes('--no-pin')) pin(etcd.pid, storeCore);
    return run(node, [...options, bench, '--home', home, ...args], { env });
  });
}

/** The programs in packages/tests/bench that measure rows of the table, with the flags of V8 that many objects need. */
async function runSizing(args) {
  const tools = prepare();
  const haproxy = provisionHaproxy();
  if (haproxy === undefined) throw new Failure('The bench needs HAProxy: install it first.');
  const env = { ...tools.env, ETCD_BIN: await provisionEtcd(), HAPROXY_BIN: haproxy };
  const [firstLine] = fs.readFileSync(path.join(root, 'packages', 'server', 'src', 'main.ts'), 'utf8').split('\n', 1);
  const ofServer = ['--max-old-space-size=6144', ...firstLine.split(' ').filter((word) => word.startsWith('--'))];
  const programs = [
    [...ofServer, 'event-loop.ts', '100000'],
    [...ofServer, 'event-loop.ts', '500000', '500'],
    [...ofServer, 'event-loop.ts', '1000000', '500'],
    ['object-memory.ts'],
    ['idle-watches.ts'],
    ['load-balancers.ts', `haproxy=${haproxy}`],
  ];
  buildPackages(tools);
  for (const words of programs) {
    const code = await runProgram([tools.node], words, args, env);
    if (code !== 0) return code;
  }
  return 0;
}

async function runFeatures(args) {
  const { node, env } = await prepareLoad();
  for (const program of ['authorizers.ts', 'features.ts']) {
    const code = await runProgram(['taskset', '-c', storeCore, node], [program], args, env);
    if (code !== 0) return code;
  }
  return 0;
}

async function runLoad(program, args) {
  const tools = await prepareLoad();
  buildPackages(tools);
  return runProgram([tools.node], [program], args, tools.env);
}

/** For programs that start etcd and wrk. */
async function prepareLoad() {
  const { node, env } = prepare();
  const wrk = provisionWrk();
  if (wrk === undefined) throw new Failure('The bench needs wrk: install it first.');
  return { node, env: { ...env, ETCD_BIN: await provisionEtcd(), WRK_BIN: wrk } };
}

/** A program in packages/tests/bench, after options of Node, and before its arguments. */
function runProgram([command, ...before], words, args, env) {
  const at = words.findIndex((word) => word.endsWith('.ts'));
  const program = path.join('packages', 'tests', 'bench', words[at]);
  console.log(`\n${words.slice(at).join(' ')}`);
  const options = [...words.slice(0, at), '--conditions=source', '--disable-warning=ExperimentalWarning'];
  return run(command, [...before, ...options, program, ...words.slice(at + 1), ...args], { env });
}

async function runDefinitions(args) {
  const { node, env } = prepare();
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const home = path.join(cache, 'bench-definitions');
  const bench = path.join(root, 'bench', 'definitions.mjs');
  const isSaved = args.includes('--save');
  if (isSaved && kubeApiserver === undefined) throw new Failure('--save requires KUBE_APISERVER_BIN.');
  const options = args.filter((arg) => arg !== '--save');
  const [ownReport, referenceReport] = ['own', 'reference'].map((name) =>
    path.join(cache, `bench-definitions-${name}.json`),
  );
  const measure = ({ url, token, pid }, report) => {
    const server = ['--server', url, '--token', token, '--pid', String(pid), '--json', report];
    return run('taskset', ['-c', storeCore, node, bench, ...server, ...options], { env });
  };
  const own = await withCluster(tools, home, ['--replicas', '1'], ({ replicas: [replica], etcd: [etcd] }) => {
    pin(etcd.pid, storeCore);
    pin(replica.pid, serverCore);
    const token = fs.readFileSync(path.join(home, 'admin.token'), 'utf8').trim();
    return measure({ url: replica.url, token, pid: replica.pid }, ownReport);
  });
  if (own !== 0 || kubeApiserver === undefined) return own;
  const { environment, flags } = referenceSettings;
  const reference = await withKubeApiserver(tools, [...environment, ...flags], (started) => {
    pin(started.etcd.pid, storeCore);
    pin(started.pid, serverCore);
    console.log('\nkube-apiserver');
    return measure(started, referenceReport);
  });
  return reference === 0 && isSaved ? saveDefinitions(ownReport, referenceReport) : reference;
}

function saveDefinitions(ownReport, referenceReport) {
  const [own, reference] = [ownReport, referenceReport].map((report) => JSON.parse(fs.readFileSync(report, 'utf8')));
  if (own.count !== savedDefinitions) throw new Failure(`--save is for --count ${savedDefinitions}.`);
  const seconds = (value) => `${value.toFixed(1)} s`;
  const each = (figures, name) => `${((figures[name] - figures.rssBeforeMiB) / figures.count).toPrecision(2)} MiB`;
  const served = ({ createSeconds, servedSeconds }) => seconds(createSeconds + servedSeconds);
  const date = new Date().toISOString().slice(0, 10);
  const saved = JSON.parse(fs.readFileSync(measured, 'utf8'));
  const row = (what, figure) => [what, figure(own), figure(reference)];
  saved.definitions.date = date;
  saved.definitions.rows = [
    row('1,000 definitions created and served after', served),
    row('CPU time until then', ({ cpuSecondsUntilServed }) => seconds(cpuSecondsUntilServed)),
    row('memory of each', (figures) => each(figures, 'rssServedMiB')),
    row('memory of each, with an object, after the documents', (figures) => each(figures, 'rssSettledMiB')),
    row('first `/openapi/v2`', ({ openapi2FirstSeconds }) => seconds(openapi2FirstSeconds)),
  ];
  const sizing = saved.sizing.find(({ command }) => command === saved.definitions.command);
  Object.assign(sizing, {
    date,
    measured: `${each(own, 'rssSettledMiB')} each with one object, 1,000 served after ${served(own)}`,
  });
  fs.writeFileSync(measured, `${JSON.stringify(saved, null, 2)}\n`);
  console.log('Saved in bench/measured.json; npm run reference writes the pages from it.');
  return 0;
}

async function runKit(args) {
  const { node, env } = prepare();
  if (args.includes('--help')) return run(node, [kit, '--help'], { env });
  const isSaved = args.includes('--save');
  if (isSaved && kubeApiserver === undefined) throw new Failure('--save requires KUBE_APISERVER_BIN.');
  const wrk = provisionWrk();
  if (wrk === undefined) throw new Failure('The bench needs wrk: install it first.');
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd(), WRK_BIN: wrk } };
  const home = path.join(cache, 'bench');
  const report = path.join(cache, 'bench.json');
  const isPinned = !args.includes('--no-pin');
  return withCluster(tools, home, ['--replicas', '1'], ({ replicas: [replica], etcd: [etcd] }) => {
    if (isPinned) pin(etcd.pid, storeCore);
    const token = fs.readFileSync(path.join(home, 'admin.token'), 'utf8');
    const own = ['--server', replica.url, '--token', token, '--pids', String(replica.pid), '--etcd', etcd.url];
    const measure = async (reference) => {
      const options = [...own, ...reference, '--json', report, ...args.filter((arg) => arg !== '--save')];
      const code = await run(node, [kit, ...options], { env: tools.env });
      if (code === 0 && isSaved) save(report, node, tools);
      return code;
    };
    if (kubeApiserver === undefined) return measure([]);
    const { environment, flags } = referenceSettings;
    return withKubeApiserver(tools, [...environment, ...flags], (reference) => {
      if (isPinned) pin(reference.etcd.pid, storeCore);
      const { url, token: referenceToken, pid } = reference;
      return measure([
        ...['--reference-server', url, '--reference-token', referenceToken],
        ...['--reference-pids', String(pid)],
      ]);
    });
  });
}

function pin(pid, core) {
  outputOf('taskset', ['-acp', core, String(pid)]);
}

/** Adds the machine, the versions and the settings. */
function save(report, node, { env }) {
  const figures = JSON.parse(fs.readFileSync(report, 'utf8'));
  const [cpu] = os.cpus();
  const about = {
    date: new Date().toISOString().slice(0, 10),
    revision: outputOf('git', ['rev-parse', '--short=8', 'HEAD'])?.trim() ?? 'unknown',
    machine: { processor: cpu?.model ?? '', cores: os.cpus().length, memoryGiB: Math.round(os.totalmem() / 2 ** 30) },
    node: outputOf(node, ['--version'])?.trim() ?? '',
    etcd: outputOf(env.ETCD_BIN, ['--version'])?.match(/etcd Version: (\S+)/)?.[1] ?? '',
    server: ownSettings,
    reference: {
      version: outputOf(kubeApiserver, ['--version'])?.trim() ?? '',
      settings: [...referenceSettings.environment, ...referenceSettings.flags],
    },
  };
  fs.writeFileSync(results, `${JSON.stringify({ ...about, ...figures }, null, 2)}\n`);
  console.log('Saved in bench/results.json; npm run reference writes README.md from it.');
}
