#!/usr/bin/env node
// npm run conformance: replays recorded conversations with kube-apiserver against a cluster. Arguments after `--` go to the
// kit, see conformance/README.md. With KUBE_APISERVER_BIN also against that kube-apiserver, which `--record` requires.
// --mutants=SEED [--count=1000]: instead cases that were changed at random, recorded on that kube-apiserver before.
import { provisionEtcd } from './etcd.mjs';
import { kubeApiserver } from './kube-apiserver.mjs';
import { buildPackages } from './packages.mjs';
import { prepare } from './prepare.mjs';
import { Failure, main } from './project.mjs';
import { byArea, passes, replayMutants, replayOnCluster, replayOnKubeApiserver } from './recorded-cases.mjs';

await main(async (options) => {
  const { node, env } = prepare();
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  buildPackages(tools);
  const seed = valueOf(options, 'mutants');
  if (kubeApiserver === undefined && (seed !== undefined || options.includes('--record')))
    throw new Failure('Recording requires KUBE_APISERVER_BIN.');
  if (options.includes('--record')) {
    await replayOnKubeApiserver(tools, 'conformance-recording', options);
    return 0;
  }
  if (seed !== undefined) {
    const results = await replayMutants(tools, Number(seed), Number(valueOf(options, 'count') ?? 1_000));
    return report(results, undefined);
  }
  const own = await replayOnCluster(tools, 'conformance', options);
  return report(own, kubeApiserver && (await replayOnKubeApiserver(tools, 'conformance-reference', options)));
});

function valueOf(options, name) {
  return options.find((option) => option.startsWith(`--${name}=`))?.split('=')[1];
}

function report(own, reference) {
  console.log(`\n${'area'.padEnd(28)} ${'this server'.padStart(14)}${reference ? 'kube-apiserver'.padStart(18) : ''}`);
  for (const [area, cases] of [...byArea(own), ['all', own]]) {
    const others = reference?.filter(({ id }) => area === 'all' || id.startsWith(`${area}:`));
    console.log(
      `${area.padEnd(28)} ${countPassed(cases).padStart(14)}${others ? countPassed(others).padStart(18) : ''}`,
    );
  }
  return own.every(passes) ? 0 : 1;
}

function countPassed(cases) {
  return `${cases.filter(passes).length} of ${cases.length}`;
}
