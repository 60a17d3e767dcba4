#!/usr/bin/env node
// node packages/toolchain/upstream-kubectl.mjs [CASE…]: the command tests of kubectl from Kubernetes' sources that use served
// kinds alone, against a cluster of two replicas. It builds kubectl from the same sources; the cases run for half a minute.
import fs from 'node:fs';
import path from 'node:path';
import { outputOf, run, step } from './child.mjs';
import { withCluster } from './cluster.mjs';
import { provisionEtcd } from './etcd.mjs';
import { createModule, downloadKubernetes, kubernetesVersion as version } from './kubernetes-module.mjs';
import { prepare } from './prepare.mjs';
import { cache, Failure, main, root } from './project.mjs';

/**
 * Functions `run_CASE_tests` of test/cmd. The others use pods, nodes, services, or kinds of the groups apps and batch; but
 * `swagger`, which looks for sentences of the documentation of kinds, and `exec_credentials`, for an authority with a
 * certain name.
 */
const all = [
  ...['kubectl_version', 'kubectl_help', 'kubectl_local_proxy', 'plugins', 'client_config', 'kubeconfig_impersonate'],
  ...['kubectl_config_set_cluster', 'kubectl_config_set_credentials', 'RESTMapper_evaluation', 'ambiguous_shortname'],
  ...['explain_crd_with_additional_properties', 'crd', 'crd_deletion_recreation', 'deprecated_api', 'namespace'],
  ...['configmap', 'secrets', 'create_secret', 'service_accounts', 'kubectl_create_error', 'certificates'],
  ...['kubectl_delete_allnamespaces', 'kubectl_delete_interactive'],
  ...['kubectl_auth_whoami', 'authorization', 'impersonation'],
];
const caseMaxMs = 5 * 60_000;

await main(async (chosen) => {
  const cases = chosen.length > 0 ? chosen : all;
  const { node, env } = prepare();
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  const home = path.join(cache, 'upstream-cluster');
  const settings = ['--', '--authorization-mode=RBAC,AlwaysAllow'];
  return withCluster(tools, home, ['--replicas', '2', ...settings], async ({ front }) => {
    const token = fs.readFileSync(path.join(home, 'admin.token'), 'utf8').trim();
    const sources = await copySources(token);
    const { port } = new URL(front.url);
    const failed = cases.filter((name) => !passes(name, { sources, port, env: { ...env, ADMIN_TOKEN: token } }));
    console.log(`${cases.length - failed.length} passed, ${failed.length} failed`);
    return failed.length === 0 ? 0 : 1;
  });
});

function passes(name, { sources, port, env }) {
  const script = path.join(root, 'packages', 'tests', 'upstream', 'kubectl-case.sh');
  const { ok, output } = step('bash', [script, sources, port, name], { env, timeout: caseMaxMs });
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}`);
  if (!ok) console.log(output.split('\n').slice(-40).join('\n'));
  return ok;
}

/** The scripts with what they use, and kubectl where they look for it. They name the token of their administrator. */
async function copySources(token) {
  if (!outputOf('go', ['version'])) throw new Failure('Go is needed to build kubectl: install it first.');
  const sources = path.join(cache, `upstream-kubectl-${version}`);
  fs.rmSync(sources, { recursive: true, force: true });
  const build = path.join(sources, 'build');
  fs.mkdirSync(build, { recursive: true });
  const requirements = createModule('upstream', version);
  const { Dir: module } = downloadKubernetes(version);
  for (const part of ['hack', 'test/cmd', 'test/fixtures', 'third_party/forked/shell2junit'])
    fs.cpSync(path.join(module, part), path.join(sources, part), { recursive: true });
  // The files of a module are neither writable nor executable.
  await required('chmod', ['-R', 'u+w,a+x', sources]);
  for (const name of fs.readdirSync(path.join(sources, 'test', 'cmd')).filter((file) => file.endsWith('.sh'))) {
    const script = path.join(sources, 'test', 'cmd', name);
    fs.writeFileSync(script, fs.readFileSync(script, 'utf8').replaceAll('admin-token', token));
  }
  fs.writeFileSync(path.join(build, 'go.mod'), requirements);
  fs.copyFileSync(path.join(module, 'cmd', 'kubectl', 'kubectl.go'), path.join(build, 'kubectl.go'));
  console.log(`Building kubectl ${version} …`);
  const variables = ['k8s.io/component-base/version', 'k8s.io/client-go/pkg/version'].map(
    (name) => `-X ${name}.gitVersion=${version}`,
  );
  const kubectl = path.join(sources, '_output', 'bin', 'kubectl');
  await required('go', ['build', '-mod=mod', '-ldflags', variables.join(' '), '-o', kubectl, '.'], { cwd: build });
  return sources;
}

async function required(command, args, options) {
  if ((await run(command, args, options)) !== 0) throw new Failure(`${command} ${args[0]} failed.`);
}
