#!/usr/bin/env node
// npm run bench: measures a single replica, and the kube-apiserver of KUBE_APISERVER_BIN in turns with it. Arguments after
// `--` go to bench/run.mjs; `--help` lists them. `--save` keeps the figures in bench/results.json.
// npm run bench -- hostile: attacks the same replica, see packages/tests/bench/hostile.ts.
// npm run bench -- definitions: gives the same replica many custom resource definitions, see bench/definitions.mjs.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { provisionWrk } from './debian-programs.mjs';
import { provisionEtcd } from './etcd.mjs';
import { kubeApiserver, withKubeApiserver } from './kube-apiserver.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, root } from './project.mjs';

const kit = path.join(root, 'bench', 'run.mjs');
const results = path.join(root, 'bench', 'results.json');
/** The kit gives the servers core 0; the load and the stores share core 1. */
const serverCore = '0';
const storeCore = '1';

/** One core, and its fastest configuration: it neither checks rights nor encrypts. */
const referenceSettings = {
  environment: ['GOMAXPROCS=1'],
  flags: ['--authorization-mode=AlwaysAllow', '--enable-admission-plugins=NamespaceAutoProvision'],
};
const ownSettings = ['RBAC', 'encryption with AES-GCM'];

await main(([first, ...rest]) => {
  if (first === 'hostile') return runHostile(rest);
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
    if (!args.includes('--no-pin')) pinStore(etcd.pid);
    return run(node, [...options, bench, '--home', home, ...args], { env });
  });
}

async function runDefinitions(args) {
  const { node, env } = prepare();
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const home = path.join(cache, 'bench-definitions');
  const bench = path.join(root, 'bench', 'definitions.mjs');
  return withCluster(tools, home, ['--replicas', '1'], ({ replicas: [replica], etcd: [etcd] }) => {
    pinStore(etcd.pid);
    outputOf('taskset', ['-acp', serverCore, String(replica.pid)]);
    const token = fs.readFileSync(path.join(home, 'admin.token'), 'utf8').trim();
    const server = ['--server', replica.url, '--token', token, '--pid', String(replica.pid)];
    return run('taskset', ['-c', storeCore, node, bench, ...server, ...args], { env });
  });
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
    if (isPinned) pinStore(etcd.pid);
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
      if (isPinned) pinStore(reference.etcd.pid);
      const { url, token: referenceToken, pid } = reference;
      return measure([
        ...['--reference-server', url, '--reference-token', referenceToken],
        ...['--reference-pids', String(pid)],
      ]);
    });
  });
}

function pinStore(pid) {
  outputOf('taskset', ['-acp', storeCore, String(pid)]);
}

/** Adds what a reader needs to judge the figures. */
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
