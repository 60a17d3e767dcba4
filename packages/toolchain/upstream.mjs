#!/usr/bin/env node
// node packages/toolchain/upstream.mjs [FOCUS]: the end-to-end tests of Kubernetes that use the API alone, against a cluster of
// two replicas. It builds them from their Go module, in ten minutes of CPU time the first time, so no test run does it. They run
// for eight minutes. FOCUS is a regular expression over their names.
import fs from 'node:fs';
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { provisionEtcd } from './etcd.mjs';
import { createModule, kubernetesVersion as version } from './kubernetes-module.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, root } from './project.mjs';

const subjects = [
  String.raw`\[sig-(api-machinery|auth|instrumentation)\]`,
  'Lease lease API',
  '(ConfigMap|Secrets?) should (be immutable|fail to create|patch|run through|update)',
  'Kubectl validation',
];

/** Words in the names of tests, by what this server does not have and they need. */
const needs = {
  'pods, nodes, and what creates pods': [
    String.raw`\b[Pp]ods?\b`,
    '[Nn]ode(Authorizer|Authenticator|Lease)',
    'PodCertificate',
    '[Dd]eployment',
    'cron[jJ]ob',
    String.raw`\brc\b`,
    String.raw`\bRS\b`,
    'replica(tion controller| set)',
    'best effort|terminating scopes',
    'mount|FsGroup|OIDC discovery',
    'by-node|for nodes',
    'Garbage collector should (not|orphan)',
    'Metrics',
  ],
  'webhooks and API servers in pods': ['[Ww]ebhook', 'Aggregat(or|ed APIServer)|sample-apiserver', 'FieldSelectors'],
  'kinds that are not served': [
    String.raw`life of a service\b|services are removed`,
    'persistent|[Vv]olume',
    'ResourceClaim',
    'chunk',
    'typed object',
    'Discovery should (locate|accurately)',
    String.raw`AggregatedDiscovery should support (aggregated discovery interface \[|raw aggregated discovery endpoint)`,
    'type check validation expressions|refer variables',
    'ServerSideApply should (create|not|remove|give|ignore|work for subresources)',
  ],
  'features that kube-apiserver has off by default': ['OffByDefault', 'StorageVersionAPI'],
  'the checks of the process kube-apiserver': ['health handlers', 'etcd failure'],
  'more time, or luck': [String.raw`\[(Slow|Disruptive|Flaky)\]`],
};

await main(async ([focus = subjects.join('|')]) => {
  const { node, env } = prepare();
  const program = await build();
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const home = path.join(cache, 'upstream-cluster');
  const left = Object.values(needs).flat().join('|');
  return withCluster(tools, home, ['--replicas', '2'], () => {
    const cluster = ['--kubeconfig', path.join(home, 'kubeconfig'), '--provider=skeleton'];
    return run(program, [...cluster, `--ginkgo.focus=${focus}`, `--ginkgo.skip=${left}`, '--ginkgo.no-color'], { env });
  });
});

async function build() {
  if (!outputOf('go', ['version'])) throw new Failure('Go is needed to build the tests: install it first.');
  const home = path.join(cache, `upstream-${version}`);
  const program = path.join(home, 'upstream.test');
  fs.cpSync(path.join(root, 'packages', 'tests', 'upstream'), home, { recursive: true });
  fs.writeFileSync(path.join(home, 'go.mod'), createModule('upstream', version));
  console.log(`Building the end-to-end tests of Kubernetes ${version} …`);
  const code = await run('go', ['test', '-mod=mod', '-c', '-o', program, '.'], { cwd: home });
  if (code !== 0) throw new Failure('The tests could not be built.');
  return program;
}
