#!/usr/bin/env node
// npm run bench: runs the bench kit against a single replica. Arguments after `--` go to the kit; `--help` lists them.
// npm run bench -- hostile: attacks the same replica, see packages/tests/bench/hostile.ts.
import fs from 'node:fs';
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { provisionEtcd } from './etcd.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, shared } from './project.mjs';

const kit = path.join(shared, 'bench', 'bench.mjs');
/** The kit gives the server core 0; the load and the store share core 1. */
const storeCore = '1';

await main((args) => (args[0] === 'hostile' ? runHostile(args.slice(1)) : runKit(args)));

async function runHostile(args) {
  const { node, env } = prepare();
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const home = path.join(cache, 'bench-hostile');
  const bench = path.join('packages', 'tests', 'bench', 'hostile.ts');
  const options = ['--conditions=source', '--disable-warning=ExperimentalWarning'];
  if (args.includes('--list')) return run(node, [...options, bench, ...args], { env });
  return withCluster(tools, home, ['--replicas', '1'], ({ etcd: [etcd] }) => {
    if (!args.includes('--no-pin')) outputOf('taskset', ['-acp', storeCore, String(etcd.pid)]);
    return run(node, [...options, bench, '--home', home, ...args], { env });
  });
}

async function runKit(args) {
  if (!fs.existsSync(kit)) throw new Failure('The bench kit was not found beside the checkout (../shared/bench).');
  const missing = ['wrk', 'openssl', 'taskset'].filter(
    (program) => outputOf('sh', ['-c', `command -v ${program}`]) === undefined,
  );
  if (missing.length > 0) throw new Failure(`The bench kit needs ${missing.join(' and ')}: install it first.`);
  const { node, env } = prepare();
  if (args.includes('--help')) return run(node, [kit, '--help'], { env });
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const home = path.join(cache, 'bench');
  return withCluster(tools, home, ['--replicas', '1'], ({ replicas: [replica], etcd: [etcd] }) => {
    if (!args.includes('--no-pin')) outputOf('taskset', ['-acp', storeCore, String(etcd.pid)]);
    const token = fs.readFileSync(path.join(home, 'admin.token'), 'utf8');
    const target = ['--server', replica.url, '--token', token, '--pids', String(replica.pid), '--etcd', etcd.url];
    return run(node, [kit, ...target, ...args], { env });
  });
}
