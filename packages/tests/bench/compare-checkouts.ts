/**
 * Compares the CPU time per request of two checkouts under the same load (see compared-servers.ts).
 * `taskset -c 1 node --conditions=source packages/tests/bench/compare-checkouts.ts OTHER-CHECKOUT WORKLOAD,WORKLOAD [FLAG ...]`
 * Flags apply to the server of this checkout, except `--policies=COUNT` and `--policies=COUNT:matching`, which create
 * so many ValidatingAdmissionPolicies there (see policies.ts), and `--in-turns`: the load is then on one server at a
 * time, instead of on both. OTHER-CHECKOUT may be this checkout.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { enforcePolicies } from './policies.ts';
import { compare, compareTurns, startBenchServer, thisCheckout } from './compared-servers.ts';

const [other = '', workloads = '', ...rest] = process.argv.slice(2);
const policiesFlag = '--policies=';
const inTurnsFlag = '--in-turns';
const flags = rest.filter((flag) => !flag.startsWith(policiesFlag) && flag !== inTurnsFlag);
const policies = (rest.find((flag) => flag.startsWith(policiesFlag)) ?? '').slice(policiesFlag.length);
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'compare-checkouts-'));
const etcd = await startEtcd();
const common = { endpoints: etcd.endpoints, home };
const theirs = await startBenchServer({ ...common, name: 'theirs', checkout: other });
const ours = await startBenchServer({ ...common, name: 'ours', checkout: thisCheckout, flags });
try {
  await enforcePolicies(ours, policies);
  for (const workload of workloads.split(','))
    await (rest.includes(inTurnsFlag)
      ? compareTurns(workload, [{ server: theirs }, { server: ours }])
      : compare(workload, [theirs, ours]));
} finally {
  await Promise.all([theirs.stop(), ours.stop()]);
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}
