#!/usr/bin/env node
// npm run pictures: puts a local cluster under load for two minutes and draws panels of the dashboard into docs/images, and
// photographs its API reference. Requires Chromium and kubectl on the PATH.
import path from 'node:path';
import { run } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { provisionEtcd } from './etcd.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main } from './project.mjs';
import { provisionPrometheus } from './prometheus.mjs';

await main(async () => {
  const { node, env } = prepare();
  const { prometheus } = provisionPrometheus() ?? {};
  if (prometheus === undefined) throw new Failure('Prometheus is required: set PROMETHEUS_BIN and PROMTOOL_BIN.');
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const home = path.join(cache, 'pictures');
  const program = path.join('packages', 'tests', 'bench', 'pictures.ts');
  const options = ['--conditions=source', '--disable-warning=ExperimentalWarning'];
  return withCluster(tools, home, [], () =>
    run(node, [...options, program, '--home', home], { env: { ...env, PROMETHEUS_BIN: prometheus } }),
  );
});
