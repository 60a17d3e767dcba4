#!/usr/bin/env node
// npm run fuzz: runs the fuzzer against a built replica with encryption and its own etcd. Arguments after `--` go to
// packages/tests/fuzz/main.ts.
import path from 'node:path';
import { run } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { provisionEtcd } from './etcd.mjs';
import { prepare } from './prepare.mjs';
import { cache, main } from './project.mjs';

await main(async (args) => {
  const { node, env } = prepare();
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const home = path.join(cache, 'fuzz');
  const fuzzer = path.join('packages', 'tests', 'fuzz', 'main.ts');
  const options = ['--conditions=source', '--disable-warning=ExperimentalWarning'];
  return withCluster(tools, home, ['--replicas', '1'], () =>
    run(node, [...options, fuzzer, '--home', home, ...args], { env }),
  );
});
