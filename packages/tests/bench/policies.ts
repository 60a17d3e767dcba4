/** Admission policies for benchmarked servers. */
import { http1Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { adminToken, type BenchServer } from './compared-servers.ts';

const group = '/apis/admissionregistration.k8s.io/v1';

/**
 * Creates ValidatingAdmissionPolicies: `COUNT` policies that do not match, or `COUNT:matching` of which the last one
 * matches. A matching policy evaluates a label, a name and the user.
 */
export async function enforcePolicies({ url, ca }: Pick<BenchServer, 'url' | 'ca'>, policies: string): Promise<void> {
  const [count = '', matching] = policies.split(':');
  const client = http1Client(url, { ca, token: adminToken });
  const post = (plural: string, body: object): Promise<string> =>
    requireSuccess(client, 'POST', `${group}/${plural}`, { body });
  for (let index = 1; index <= Number(count); index++) {
    const isMatching = matching !== undefined && index === Number(count);
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
