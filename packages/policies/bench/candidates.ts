/**
 * Processor time in which ten policies that do not match a create are left out: by matching one by one, and by the index.
 * `node --conditions=source packages/policies/bench/candidates.ts`
 */
import { callUntil, runSync } from '@cluster-apiserver/base';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import { CandidateIndex } from '../src/candidate-index.ts';
import type { ClusterState } from '../src/cluster-state.ts';
import { createMatcher } from '../src/matching.ts';
import { PolicyRequest } from '../src/request.ts';

const times = 200_000;
const turns = 15;

const cluster = { findEquivalents: () => [] } as unknown as ClusterState;
const resource = { group: '', version: 'v1', plural: 'serviceaccounts' } as ServedKind;
const call = callUntil(Number.POSITIVE_INFINITY);
const context = { operation: 'CREATE', resource, namespace: 'a', subresource: undefined, call } as AdmissionContext;
const rule = { apiGroups: [''], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources: ['namespaces'] };
const policies = Array.from({ length: 10 }, () => createMatcher({ resourceRules: [rule], matchPolicy: 'Equivalent' }));
const index = new CandidateIndex(policies, (policy) => policy);
runSync(index.collect(context, cluster));

let found = 0;
const ways = {
  'one by one': () => {
    const request = new PolicyRequest(context, cluster);
    for (const policy of policies) if (policy.matches(request)) found++;
  },
  'by the index': () => {
    found += index.find(context)?.length ?? 0;
  },
};
for (const [way, act] of Object.entries(ways)) {
  const microseconds = Array.from({ length: turns }, () => {
    const before = process.cpuUsage();
    for (let time = 0; time < times; time++) act();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / times;
  }).toSorted((one, other) => one - other);
  console.log(`${way}: ${microseconds[Math.floor(turns / 2)]?.toFixed(3)} us, ${found} found`);
}
