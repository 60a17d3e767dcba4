import fs from 'node:fs';
import path from 'node:path';
import { outputOf, step } from './child.mjs';
import { cache } from './project.mjs';

// Helm and kubeconform are built from Go modules, so the Go proxy suffices, and Go's checksum database verifies them.
// The schemas of Kubernetes and of the operators also come from Go modules.

const modules = {
  helm: { module: 'helm.sh/helm/v4/cmd/helm', version: 'v4.3.1' },
  kubeconform: { module: 'github.com/yannh/kubeconform/cmd/kubeconform', version: 'v0.8.0' },
};

const homeOf = (name) => path.join(cache, `${name}-${modules[name].version}`);
const programOf = (name) => path.join(homeOf(name), name);

/**
 * Finds Helm, kubeconform and the schemas for the chart tests. A first build takes minutes, so only `npm run chart`
 * builds. HELM_BIN names another Helm, such as version 3. Returns the reason if something is missing.
 * @typedef {{ reason?: string, helm?: string, kubeconform?: string, schemas?: string }} ChartTools
 * @returns {ChartTools}
 */
export function provisionChartTools(tools, { build = false } = {}) {
  const helm = process.env.HELM_BIN ?? programOf('helm');
  const kubeconform = programOf('kubeconform');
  const schemas = schemasOf();
  const missing = () => [helm, kubeconform, schemas].filter((file) => !fs.existsSync(file));
  if (missing().length === 0) return { helm, kubeconform, schemas };
  if (!build) return { reason: 'helm and kubeconform are missing; build them with npm run chart' };
  if (!outputOf('go', ['version'])) return { reason: 'building helm and kubeconform requires go on the PATH' };
  fs.mkdirSync(cache, { recursive: true });
  for (const work of [
    () => install('helm', helm),
    () => install('kubeconform', kubeconform),
    () => convertSchemas(tools),
  ]) {
    const reason = work();
    if (reason) return { reason };
  }
  return { helm, kubeconform, schemas };
}

function install(name, program) {
  if (fs.existsSync(program)) return undefined;
  if (program !== programOf(name)) return `${program} does not exist`;
  const { module, version } = modules[name];
  console.log(`Building ${name} ${version} …`);
  const { ok, output } = step('go', ['install', '-trimpath', '-ldflags=-s -w', `${module}@${version}`], {
    cwd: cache, // outside any Go module
    env: { ...process.env, GOBIN: homeOf(name), CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' },
  });
  return ok ? undefined : `${name} could not be built: ${output.split('\n').at(-1)}`;
}

/** Sources of the schemas. The Kubernetes version is the one whose responses the conformance suite records. */
const schemaSources = [
  { module: 'k8s.io/kubernetes', version: 'v1.36.2', files: 'api/openapi-spec/swagger.json' },
  { module: 'sigs.k8s.io/gateway-api', version: 'v1.6.3', files: 'config/crd/standard' },
  { module: 'github.com/cert-manager/cert-manager', version: 'v1.21.2', files: 'deploy/crds' },
  {
    module: 'github.com/prometheus-operator/prometheus-operator',
    version: 'v0.85.0',
    files: 'example/prometheus-operator-crd',
  },
];
const schemaVersion = schemaSources.map(({ version }) => version).join('-');
const schemasOf = () => path.join(cache, `chart-schemas-${schemaVersion}`);

function convertSchemas({ node }) {
  const schemas = schemasOf();
  if (fs.existsSync(schemas)) return undefined;
  console.log('Fetching the schemas of Kubernetes and the operators …');
  const sources = [];
  for (const { module, version, files } of schemaSources) {
    const { ok, output } = step('go', ['mod', 'download', '-json', `${module}@${version}`], { cwd: cache });
    if (!ok) return `${module} could not be fetched: ${/"Error": "(.*)"/.exec(output)?.[1] ?? output}`;
    sources.push(path.join(JSON.parse(output).Dir, files));
  }
  const scratch = fs.mkdtempSync(path.join(cache, 'schemas-'));
  const program = path.join('packages', 'tests', 'test', 'chart', 'write-schemas.ts');
  const { ok, output } = step(node, ['--conditions=source', program, scratch, ...sources]);
  if (!ok) return `the schemas could not be converted: ${output}`;
  fs.renameSync(scratch, schemas); // published atomically, after all files were written
  return undefined;
}
