import { provisionEtcd, provisionEtcdctl } from './etcd.mjs';
import { provisionHaproxy } from './haproxy.mjs';
import { provisionChartTools } from './helm.mjs';
import { buildPackages } from './packages.mjs';
import { prepare } from './prepare.mjs';
import { provisionPrometheus } from './prometheus.mjs';

/** Node, and an environment that names all programs that tests run. Builds the packages, too. */
export async function provisionTestTools() {
  const { node, env } = prepare();
  const etcd = await provisionEtcd();
  const haproxy = provisionHaproxy();
  const programs = { etcd, etcdctl: await provisionEtcdctl(etcd), ...provisionPrometheus() };
  const tools = {
    node,
    env: { ...env, ...environmentOf(programs), ...(haproxy && { HAPROXY_BIN: haproxy }) },
  };
  buildPackages(tools); // cluster tests run the built code
  Object.assign(tools.env, chartEnvironmentOf(provisionChartTools(tools)));
  return { tools, etcd };
}

/** Variables by which tests find the programs. */
export function environmentOf({ etcd, etcdctl, prometheus, promtool }) {
  return {
    ETCD_BIN: etcd,
    ...(etcdctl && { ETCDCTL_BIN: etcdctl }),
    ...(prometheus && { PROMETHEUS_BIN: prometheus, PROMTOOL_BIN: promtool }),
  };
}

function chartEnvironmentOf({ reason, helm, kubeconform, schemas }) {
  if (reason) return { HELM_MISSING: reason };
  return { HELM_BIN: helm, KUBECONFORM_BIN: kubeconform, KUBERNETES_SCHEMAS: schemas };
}

/** Options of Jest that leave out the files that match. */
export function excludeFiles(patterns) {
  return ['/node_modules/', ...patterns].map((pattern) => `--testPathIgnorePatterns=${pattern}`);
}
