import fs from 'node:fs';
import path from 'node:path';
import { outputOf, run } from './child.mjs';

/** Modules whose files tests read, by path. */
const versions = {
  'github.com/argoproj/argo-cd/v2': 'v2.14.0',
  'github.com/argoproj/argo-rollouts': 'v1.8.0',
  'github.com/cert-manager/cert-manager': 'v1.21.2',
  'github.com/crossplane/crossplane/v2': 'v2.0.2',
  'github.com/fluxcd/source-controller': 'v1.10.1',
  'github.com/kedacore/keda/v2': 'v2.17.0',
  'github.com/kubernetes-sigs/kro': 'v0.9.4',
  'github.com/prometheus-operator/prometheus-operator': 'v0.85.0',
  'github.com/tektoncd/pipeline': 'v1.0.0',
  'istio.io/api': 'v1.32.0',
  'sigs.k8s.io/cluster-api': 'v1.14.2',
  'sigs.k8s.io/gateway-api': 'v1.7.0',
};

/** For all modules together; each takes a second or two. */
const fetchMaxMs = 60_000;

/**
 * Fetches the modules that `isNeeded` through Go's module cache, and returns their folders, or the reason why there are
 * none.
 * @param {(module: string) => boolean} isNeeded
 */
export async function provisionModules(isNeeded) {
  const needed = Object.entries(versions).filter(([module]) => isNeeded(module));
  if (needed.length === 0) return {};
  const root = outputOf('go', ['env', 'GOMODCACHE'])?.trim();
  if (!root) return { reason: 'Go is not installed, which fetches the modules' };
  const folders = needed.map(([module, version]) => [module, path.join(root, `${module}@${version}`)]);
  const missing = folders.filter(([, folder]) => !fs.existsSync(folder));
  const signal = AbortSignal.timeout(fetchMaxMs);
  for (const [module] of missing) {
    // It also fails for a module that needs a newer Go, whose files it has unpacked all the same.
    const fetched = run('go', ['mod', 'download', `${module}@${versions[module]}`], { stdio: 'ignore', signal });
    await fetched.catch(() => {}); // a folder that is missing afterwards is the reason
  }
  const unavailable = missing.filter(([, folder]) => !fs.existsSync(folder)).map(([module]) => module);
  if (unavailable.length > 0) return { reason: `${unavailable.join(' and ')} could not be fetched` };
  return { folders: Object.fromEntries(folders) };
}
