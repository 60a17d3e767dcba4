/**
 * Compares the processor time per request of two checkouts under the same load (see compared-servers.ts).
 * `taskset -c 1 node --conditions=source packages/tests/bench/compare-checkouts.ts OTHER-CHECKOUT WORKLOAD,WORKLOAD [FLAG ...]`
 * Flags apply to the server of this checkout, except `--policies=COUNT` and `--policies=COUNT:matching`, which create
 * so many ValidatingAdmissionPolicies there (see policies.ts). OTHER-CHECKOUT may be this checkout.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { enforcePolicies } from './policies.ts';
import { compare, startBenchServer, thisCheckout } from './compared-servers.ts';

const [other = '', workloads = '', ...rest] = process.argv.slice(2);
const policiesFlag = '--policies=';
const flags = rest.filter((flag) => !flag.startsWith(policiesFlag));
const policies = (rest.find((flag) => flag.startsWith(policiesFlag)) ?? '').slice(policiesFlag.length);
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'compare-checkouts-'));
const etcd = await startEtcd();
const common = { endpoints: etcd.endpoints, home };
const theirs = await startBenchServer({ ...common, name: 'theirs', checkout: other });
const ours = await startBenchServer({ ...common, name: 'ours', checkout: thisCheckout, flags });
try {
  await enforcePolicies(ours, policies);
  for (const workload of workloads.split(',')) await compare(workload, [theirs, ours]);
} finally {
  await Promise.all([theirs.stop(), ours.stop()]);
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}
