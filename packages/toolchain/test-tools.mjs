import fs from 'node:fs';
import { provisionActionlint } from './actionlint.mjs';
import { provisionEtcd, provisionEtcdctl } from './etcd.mjs';
import { provisionModules } from './go-modules.mjs';
import { provisionChartTools } from './helm.mjs';
import { listTests } from './jest.mjs';
import { buildPackages } from './packages.mjs';
import { prepare } from './prepare.mjs';
import { Failure } from './project.mjs';
import { provisionPrometheus } from './prometheus.mjs';
import { onlyWithFaults } from './test-plan.mjs';
import { provisionHaproxy, provisionNghttpx } from './debian-programs.mjs';

/**
 * Node, and an environment that names the programs that the tests of these patterns run. Builds the packages if they need that. A
 * test that needs a program reads its variable, so the rarely needed ones are fetched only for files that name it.
 * `missing` names those that should have been fetched.
 */
export async function provisionTestTools(patterns = []) {
  const { node, env } = prepare();
  const files = listTests({ node, env }, [...patterns, ...(patterns.length > 0 ? [] : excludeFiles(onlyWithFaults))]);
  if (files.length === 0) throw new Failure(`No test file matches ${patterns.join(' ')}.`);
  const tests = files.map((file) => fs.readFileSync(file, 'utf8'));
  const need = (variable) => tests.some((test) => test.includes(variable));
  const missing = [];
  const provisionIf = (isNeeded, name, provision) => {
    const found = isNeeded ? provision() : undefined;
    if (isNeeded && !found) missing.push(name);
    return found;
  };
  const etcd = await provisionEtcd();
  const etcdctl = await provisionEtcdctl(etcd);
  if (!etcdctl) missing.push('etcdctl');
  const haproxy = provisionIf(need('HAPROXY_BIN'), 'haproxy', provisionHaproxy);
  const nghttpx = provisionIf(need('NGHTTPX_BIN'), 'nghttpx', provisionNghttpx);
  const prometheus = provisionIf(need('PROMTOOL_BIN'), 'prometheus', provisionPrometheus);
  const modules = await provisionModules(need);
  const programs = { etcd, etcdctl, ...prometheus };
  const tools = {
    node,
    env: {
      ...env,
      ...environmentOf(programs),
      ...(haproxy && { HAPROXY_BIN: haproxy }),
      ...(nghttpx && { NGHTTPX_BIN: nghttpx }),
      ...(modules.folders && { GO_MODULES: JSON.stringify(modules.folders) }),
      ...(modules.reason && { GO_MODULES_MISSING: modules.reason }),
    },
  };
  if (files.some((file) => file.endsWith('.cluster.test.ts'))) buildPackages(tools); // they run the built code
  const { actionlint, reason } = provisionActionlint();
  Object.assign(tools.env, actionlint ? { ACTIONLINT_BIN: actionlint } : { ACTIONLINT_MISSING: reason });
  Object.assign(tools.env, chartEnvironmentOf(provisionChartTools(tools)));
  return { tools, etcd, missing };
}

/**
 * Variables by which tests find the programs.
 * @param {{ etcd?: string, etcdctl?: string, prometheus?: string, promtool?: string }} programs
 */
export function environmentOf({ etcd, etcdctl, prometheus, promtool }) {
  return {
    ETCD_BIN: etcd,
    ...(etcdctl && { ETCDCTL_BIN: etcdctl }),
    ...(prometheus && { PROMETHEUS_BIN: prometheus, PROMTOOL_BIN: promtool }),
  };
}

/** @param {import('./helm.mjs').ChartTools} tools */
function chartEnvironmentOf({ reason, helm, kubeconform, schemas }) {
  if (reason) return { HELM_MISSING: reason };
  return { HELM_BIN: helm, KUBECONFORM_BIN: kubeconform, KUBERNETES_SCHEMAS: schemas };
}

/** Options of Jest that leave out the files that match. */
export function excludeFiles(patterns) {
  return ['/node_modules/', ...patterns].map((pattern) => `--testPathIgnorePatterns=${pattern}`);
}
