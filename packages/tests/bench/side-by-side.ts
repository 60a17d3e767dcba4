/**
 * Two checkouts under the same load: what a request costs each of them, in processor time (see sides.ts).
 * `taskset -c 1 node --conditions=source packages/tests/bench/side-by-side.ts OTHER-CHECKOUT WORKLOAD,WORKLOAD [FLAG ...]`
 * Flags are for the server of this checkout, but for `--policies=COUNT` and `--policies=COUNT:matching`: so many
 * ValidatingAdmissionPolicies are in force there, of which none matches, or the last one. OTHER-CHECKOUT may be this one.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { startEtcd } from '../../storage/test/real-etcd.ts';
import { http1Client } from '../test/fault/client.ts';
import { adminToken, compare, type Side, startSide, thisCheckout } from './sides.ts';

const [other = '', workloads = '', ...rest] = process.argv.slice(2);
const policiesFlag = '--policies=';
const flags = rest.filter((flag) => !flag.startsWith(policiesFlag));
const [policies = '0', matching] = (rest.find((flag) => flag.startsWith(policiesFlag)) ?? '')
  .slice(policiesFlag.length)
  .split(':');
const home = fs.mkdtempSync(path.join(os.tmpdir(), 'side-by-side-'));
const etcd = await startEtcd();
const common = { endpoints: etcd.endpoints, home };
const theirs = await startSide({ ...common, name: 'theirs', checkout: other });
const ours = await startSide({ ...common, name: 'ours', checkout: thisCheckout, flags });
try {
  await enforcePolicies(ours);
  for (const workload of workloads.split(',')) await compare(workload, [theirs, ours]);
} finally {
  await Promise.all([theirs.stop(), ours.stop()]);
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}

/** They look at what they match: a label, a name and the user. */
async function enforcePolicies({ url, ca }: Side): Promise<void> {
  const client = http1Client(url, { ca, token: adminToken });
  const post = async (plural: string, body: object): Promise<void> => {
    const { status } = await client.request('POST', `/apis/admissionregistration.k8s.io/v1/${plural}`, { body });
    if (status !== 201) throw new Error(`${plural}: ${status}`);
  };
  for (let index = 1; index <= Number(policies); index++) {
    const isMatching = matching !== undefined && index === Number(policies);
    const resources = isMatching ? ['serviceaccounts', 'events'] : ['namespaces'];
    const metadata = { name: `policy-${index}` };
    const rule = { apiGroups: ['', 'events.k8s.io'], apiVersions: ['*'], operations: ['CREATE', 'UPDATE'], resources };
    const validations = [
      { expression: "!has(object.metadata.labels) || object.metadata.labels.all(key, key != 'forbidden')" },
      { expression: "object.metadata.name.size() < 100 || request.userInfo.username == 'nobody'" },
    ];
    await post('validatingadmissionpolicies', {
      metadata,
      spec: { matchConstraints: { resourceRules: [rule] }, validations },
    });
    const spec = { policyName: metadata.name, validationActions: ['Deny'] };
    await post('validatingadmissionpolicybindings', { metadata, spec });
  }
  client.close();
}
