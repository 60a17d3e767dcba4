#!/usr/bin/env node
// node packages/toolchain/kind.mjs: builds the images, installs the chart in a new cluster of kind with the values for a
// trial, and runs its test. Requires kind, helm, kubectl and a container engine.
import path from 'node:path';
import { outputOf, run } from './child.mjs';
import { Failure, main } from './project.mjs';
import { version } from './version.mjs';

const cluster = 'cluster-apiserver';
const chart = path.join('helm', 'cluster-apiserver');
const release = ['api', '--namespace', 'platform', '--kube-context', `kind-${cluster}`];

await main(async () => {
  for (const [program, ...args] of [
    ['kind', 'version'],
    ['helm', 'version'],
    ['kubectl', 'version', '--client'],
  ])
    if (outputOf(program, args) === undefined) throw new Failure(`${program} is not on the PATH: install it first.`);
  await required('npm', ['run', 'images']);
  await required('kind', ['create', 'cluster', '--name', cluster, '--wait', '2m']);
  try {
    await required('kind', ['load', 'docker-image', `cluster-apiserver:${version}`, '--name', cluster]);
    const values = ['--values', path.join(chart, 'ci', 'trial-values.yaml')];
    const image = ['--set', 'image.repository=cluster-apiserver', '--set', 'image.pullPolicy=Never'];
    const [name, ...where] = release;
    await required('helm', ['install', name, chart, ...where, '--create-namespace', '--wait', ...values, ...image]);
    await required('helm', ['test', ...release, '--logs']);
    // An upgrade replaces the replicas one by one.
    await required('helm', ['upgrade', name, chart, ...where, '--wait', ...values, ...image, '--set', 'flags.v=1']);
    await required('helm', ['test', ...release, '--logs']);
  } catch (error) {
    await run('kubectl', ['--context', `kind-${cluster}`, 'get', 'pods,events', '--all-namespaces']);
    throw error;
  } finally {
    await run('kind', ['delete', 'cluster', '--name', cluster]);
  }
  return 0;
});

async function required(program, args) {
  if ((await run(program, args)) !== 0) throw new Failure(`${program} ${args[0]} failed.`);
}
