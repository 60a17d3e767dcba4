import { expect, test } from '@jest/globals';
import { callUntil, requireValue, systemClock } from '@cluster-apiserver/base';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import { admissionRegistration, kinds } from '@cluster-apiserver/kinds';
import type { AccessAttributes } from '@cluster-apiserver/model';
import { defineKind, type KubeObject } from '@cluster-apiserver/model/kind';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { openTestRegistry } from '../../../registry/test/open-test-registry.ts';
import { createParamRightsPlugins } from './param-rights.ts';

const namesake = defineKind({
  group: 'other.example',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  singular: 'validatingadmissionpolicy',
  namespaced: false,
  description: '',
  fields: {},
});

test('the policy of a binding is one of the group of admission, whatever other kinds have its name', async () => {
  const store = memoryStore(systemClock);
  const { api, cache } = openTestRegistry([namesake, ...kinds({ eventLifetimeSeconds: 60 })], store, systemClock);
  const call = callUntil(Number.POSITIVE_INFINITY);
  const paramKind = { apiVersion: 'v1', kind: 'ServiceAccount' };
  const policy = {
    kind: 'ValidatingAdmissionPolicy',
    apiVersion: 'admissionregistration.k8s.io/v1',
    metadata: { name: 'p', uid: 'u' },
    spec: { paramKind },
  };
  await store.create('/registry/validatingadmissionpolicies/p', Buffer.from(JSON.stringify(policy)), {}, call);
  const asked: AccessAttributes['resource'][] = [];
  const [plugin] = createParamRightsPlugins(api, {
    authorize: ({ resource }: AccessAttributes) => (asked.push(resource), { verdict: 'allow' as const }),
  });
  await api.stored[0]?.collection.waitUntilFresh(undefined, call);
  const binding: KubeObject = {
    kind: 'ValidatingAdmissionPolicyBinding',
    apiVersion: 'admissionregistration.k8s.io/v1',
    metadata: { name: 'b' },
    spec: { policyName: 'p', paramRef: { name: 'x', namespace: 'n' } },
  };
  const context: Partial<AdmissionContext> = {
    operation: 'CREATE',
    resource: { ...admissionRegistration, kind: 'ValidatingAdmissionPolicyBinding' } as AdmissionContext['resource'],
    subresource: undefined,
    object: binding,
    user: { name: 'u', groups: [] },
    call,
  };
  await requireValue(plugin).validate?.(context as AdmissionContext);
  expect(asked).toMatchObject([{ resource: 'serviceaccounts', name: 'x', namespace: 'n' }]);
  await cache.close();
  store.close();
});
