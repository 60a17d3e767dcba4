/**
 * Measures the share of a loaded server's CPU time that policies and webhooks take, from a V8 profile. All is
 * measured in one process, so other guests of the machine hardly affect the result.
 * `node --conditions=source packages/tests/bench/policy-cpu-share.ts WORKLOAD POLICIES,POLICIES`, such as
 * `create-sa 0,10,1:matching` (see policies.ts). The share excludes garbage collection.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { enforcePolicies } from './policies.ts';
import { adminToken, applyLoad, startBenchServer, thisCheckout } from './compared-servers.ts';

const [workload = '', counts = '0'] = process.argv.slice(2);
const seconds = 4;
/** A sample that took longer waited for the processor. */
const sampleMicrosecondsMax = 400;
const ofPolicies = '/packages/policies/src/';

for (const policies of counts.split(',')) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'policy-cpu-share-'));
  const etcd = await startEtcd();
  const nodeOptions = `--cpu-prof --cpu-prof-interval=200 --cpu-prof-dir=${home}`;
  const side = await startBenchServer({
    name: 'ours',
    checkout: thisCheckout,
    endpoints: etcd.endpoints,
    home,
    nodeOptions,
  });
  await enforcePolicies(side, policies);
  await applyLoad(side, { workload, token: adminToken, seconds }); // warm-up, so that V8 compiles the code
  const startMs = performance.now();
  await applyLoad(side, { workload, token: adminToken, seconds });
  const ranMs = performance.now() - startMs;
  await side.stop();
  const profile = fs.readdirSync(home).find((file) => file.endsWith('.cpuprofile')) ?? '';
  report(policies, JSON.parse(fs.readFileSync(path.join(home, profile), 'utf8')) as Profile, ranMs);
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}

interface Profile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  /** Microseconds since the previous sample. */
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
}

/** Evaluates the last part of the profile, while the server was under load. */
function report(policies: string, { nodes, samples, timeDeltas }: Profile, ranMs: number): void {
  const isOfPolicies = new Set<number>();
  const idle = new Set(nodes.filter(({ callFrame }) => callFrame.functionName === '(idle)').map(({ id }) => id));
  // Callers precede their callees.
  for (const { id, callFrame, children = [] } of nodes) {
    if (callFrame.url.includes(ofPolicies)) isOfPolicies.add(id);
    if (isOfPolicies.has(id)) for (const child of children) isOfPolicies.add(child);
  }
  let [busy, share, leftMs] = [0, 0, ranMs];
  for (let index = samples.length - 1; index >= 0 && leftMs > 0; index--) {
    const [sample = 0, took = 0] = [samples[index], timeDeltas[index]];
    leftMs -= took / 1000;
    if (idle.has(sample)) continue;
    const used = Math.min(took, sampleMicrosecondsMax);
    busy += used;
    if (isOfPolicies.has(sample)) share += used;
  }
  console.log(
    `${workload}, policies ${policies}: ${((share / busy) * 100).toFixed(2)} % of ${Math.round(busy / 1000)} ms`,
  );
}
