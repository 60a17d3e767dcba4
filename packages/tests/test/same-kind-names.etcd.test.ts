/**
 * Kinds of another group that have the names of the kinds that configure admission. They are declared first, so whoever
 * looks for a kind by its name alone finds them.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { jsonField, string } from '@cluster-apiserver/model/schema';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from './serve-kinds.ts';

const group = 'other.example';
const admission = '/apis/admissionregistration.k8s.io/v1';
const names = [
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
  'MutatingWebhookConfiguration',
];

const namesake = (kind: string): Kind =>
  defineKind({
    group,
    version: 'v1',
    kind,
    plural: pluralOf(kind),
    singular: kind.toLowerCase(),
    namespaced: false,
    description: 'For this test.',
    fields: { note: jsonField(string, 'Nothing that configures anything.') },
    deletedAnswer: 'object',
  });
const pluralOf = (kind: string): string => `${kind.toLowerCase()}s`.replace(/ys$/, 'ies');

let server: TestServer;
beforeAll(async () => {
  server = await serveKinds((services) => [...names.map(namesake), ...kinds(services)]);
});
afterAll(() => server.close());

const post = async (path: string, body: object): Promise<void> => {
  expect(await server.request('POST', path, body)).toMatchObject({ status: 201 });
};
const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'] };
const spec = {
  matchConstraints: { resourceRules: [rule] },
  validations: [{ expression: "object.metadata.name != 'denied' && object.nothing == 1" }],
};
const create = (name: string, query = '') =>
  server.request('POST', `/api/v1/namespaces/n/serviceaccounts${query}`, { metadata: { name } });

test('those of another group configure nothing, and those of the group of admission everything', async () => {
  for (const kind of names) await post(`/apis/${group}/v1/${pluralOf(kind)}`, { metadata: { name: 'p' } });
  const binding = { metadata: { name: 'b' }, spec: { policyName: 'p', validationActions: ['Deny'] } };
  const webhooks = [
    {
      name: 'a.example.com',
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
      clientConfig: { url: 'https://127.0.0.1:1/' },
      rules: [rule],
    },
  ];
  expect(await create('allowed')).toMatchObject({ status: 201 });

  await post(`${admission}/validatingadmissionpolicies`, { metadata: { name: 'p' }, spec });
  await until('the check of its types', async () => {
    const { body } = await server.request('GET', `${admission}/validatingadmissionpolicies/p`);
    const { status } = body as { status?: { typeChecking?: { expressionWarnings?: readonly object[] } } };
    return status?.typeChecking?.expressionWarnings?.length;
  });
  await post(`${admission}/validatingadmissionpolicybindings`, binding);
  expect(await create('denied')).toMatchObject({ status: 422 });
  await server.request('DELETE', `${admission}/validatingadmissionpolicybindings/b`);
  expect(await create('allowed-again')).toMatchObject({ status: 201 });
  await post(`${admission}/validatingwebhookconfigurations`, { metadata: { name: 'w' }, webhooks });
  expect(await create('called')).toMatchObject({ status: 500 });
});
