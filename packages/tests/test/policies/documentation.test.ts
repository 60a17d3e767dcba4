/** The examples of docs/admission.md work. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { parseYaml } from '@cluster-apiserver/model/codec';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { openPolicyServer, type PolicyServer, registration } from './policy-server.ts';

const page = path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'admission.md');
const sections = fs.readFileSync(page, 'utf8').split(/^## /m);
const section = sections.find((text) => text.startsWith('Policies\n')) ?? '';
const files = [...section.matchAll(/```yaml\n([^]*?)```/g)].map(([, text = '']) => text);

let server: PolicyServer;
beforeAll(async () => {
  server = await openPolicyServer();
  for (const [name, labels] of [
    ['shop', { 'example.com/cost-center': '42' }],
    ['kube-system', {}],
  ] as const)
    await server.request('POST', '/api/v1/namespaces', { metadata: { name, labels } });
});
afterAll(() => server.close());

test('the policies of docs/admission.md behave as documented', async () => {
  const kinds: string[] = [];
  for (const text of files) {
    const object = parseYaml(text).value as { readonly kind: string }; // each file is an object
    kinds.push(object.kind);
    const plural = `${object.kind.toLowerCase()}s`.replace('policys', 'policies');
    expect((await server.request('POST', `${registration}/${plural}`, object)).status).toBe(201);
  }
  expect(kinds).toEqual([
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'MutatingAdmissionPolicy',
    'MutatingAdmissionPolicyBinding',
  ]);
  const create = (namespace: string, annotations?: object): Promise<JsonResponse> =>
    server.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts?dryRun=All`, {
      metadata: { name: 'a', annotations },
    });
  const refused = await create('shop');
  expect([refused.status, refused.body.message]).toEqual([
    403,
    `serviceaccounts "a" is forbidden: ValidatingAdmissionPolicy 'owned-accounts' with binding 'owned-accounts' denied request: service account a needs the annotation example.com/owner`,
  ]);
  const owned = await create('shop', { 'example.com/owner': 'me' });
  expect([owned.status, owned.body.metadata.labels]).toEqual([201, { 'example.com/cost-center': '42' }]);
  const unlabelled = await create('kube-system');
  expect([unlabelled.status, unlabelled.body.metadata.labels]).toEqual([201, { 'example.com/cost-center': 'none' }]);
  server.user = { name: 'root', groups: ['system:masters'] };
  expect((await create('shop')).status).toBe(201);
});
