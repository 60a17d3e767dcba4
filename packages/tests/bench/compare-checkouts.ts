/**
 * Two checkouts under the same load: what a request costs each of them, in processor time (see sides.ts).
 * `taskset -c 1 node --conditions=source packages/tests/bench/compare-checkouts.ts OTHER-CHECKOUT WORKLOAD,WORKLOAD [FLAG ...]`
 * Flags are for the server of this checkout, but for `--policies=COUNT` and `--policies=COUNT:matching`: so many
 * ValidatingAdmissionPolicies are in force there, of which none matches, or the last one. OTHER-CHECKOUT may be this one.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEtcd } from '../../storage/test/real-etcd.ts';
import { enforcePolicies } from './policies.ts';
import { compare, startBenchServer, thisCheckout } from './compared-servers.ts';

const [other = '', workloads = '', ...rest] = process.argv.slice(2);
const policiesFlag = '--policies=';
const flags = rest.filter((flag) => !flag.startsWith(policiesFlag));
const policies = (rest.find((flag) => flag.startsWith(policiesFlag)) ?? '').slice(policiesFlag.length);
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'side-by-side-'));
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
