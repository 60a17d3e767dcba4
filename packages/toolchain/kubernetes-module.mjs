import fs from 'node:fs';
import { outputOf } from './child.mjs';
import { Failure } from './project.mjs';

/** The release whose behaviour this server has. */
export const kubernetesVersion = 'v1.36.2';

/** Where Go has the sources of a release of k8s.io/kubernetes, and their go.mod. */
export function downloadKubernetes(version) {
  const downloaded = outputOf('go', ['mod', 'download', '-json', `k8s.io/kubernetes@${version}`]);
  if (!downloaded) throw new Failure(`k8s.io/kubernetes ${version} could not be fetched.`);
  return JSON.parse(downloaded);
}

/**
 * The go.mod of a program that uses a release of k8s.io/kubernetes: the modules that live in its repository are replaced by
 * those of the same release.
 */
export function createModule(name, version) {
  const requirements = fs.readFileSync(downloadKubernetes(version).GoMod, 'utf8');
  const [, goVersion] = /^go (\S+)$/m.exec(requirements) ?? [];
  const staged = Array.from(requirements.matchAll(/^\s*(k8s\.io\/\S+) v0\.0\.0$/gm), ([, module]) => module);
  return [
    `module ${name}`,
    `go ${goVersion}`,
    `require k8s.io/kubernetes ${version}`,
    ...staged.map((module) => `replace ${module} => ${module} ${version.replace('v1.', 'v0.')}`),
    '',
  ].join('\n');
}
