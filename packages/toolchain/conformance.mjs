#!/usr/bin/env node
// npm run conformance: replays recorded conversations with kube-apiserver against a cluster. Arguments after `--` go to the
// kit, see conformance/README.md. With KUBE_APISERVER_BIN also against that kube-apiserver, which `--record` requires.
import { provisionEtcd } from './etcd.mjs';
import { kubeApiserver } from './kube-apiserver.mjs';
import { buildPackages } from './packages.mjs';
import { prepare } from './prepare.mjs';
import { Failure, main } from './project.mjs';
import { byArea, passes, replayOnCluster, replayOnKubeApiserver } from './recorded-cases.mjs';

await main(async (options) => {
  const { node, env } = prepare();
  const tools = { node, env: { ...env, ETCD_BIN: await provisionEtcd() } };
  buildPackages(tools);
  if (options.includes('--record')) {
    if (kubeApiserver === undefined) throw new Failure('Recording requires KUBE_APISERVER_BIN.');
    await replayOnKubeApiserver(tools, 'conformance-recording', options);
    return 0;
  }
  const own = await replayOnCluster(tools, 'conformance', options);
  const reference = kubeApiserver && (await replayOnKubeApiserver(tools, 'conformance-reference', options));
  console.log(`\n${'area'.padEnd(28)} ${'this server'.padStart(14)}${reference ? 'kube-apiserver'.padStart(18) : ''}`);
  for (const [area, cases] of [...byArea(own), ['all', own]]) {
    const others = reference?.filter(({ id }) => area === 'all' || id.startsWith(`${area}:`));
    console.log(
      `${area.padEnd(28)} ${countPassed(cases).padStart(14)}${others ? countPassed(others).padStart(18) : ''}`,
    );
  }
  return own.every(passes) ? 0 : 1;
});

function countPassed(cases) {
  return `${cases.filter(passes).length} of ${cases.length}`;
}
