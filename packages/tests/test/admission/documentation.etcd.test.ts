/** The examples of docs/admission.md work. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { parseYaml } from '@cluster-apiserver/model/codec';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

const page = path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'admission.md');
const objects = [...fs.readFileSync(page, 'utf8').matchAll(/```yaml\n([^]*?)```/g)]
  .map(([, text = '']) => parseYaml(text).value as KubeObject)
  .filter(({ apiVersion }) => apiVersion === 'admissionregistration.k8s.io/v1')
  // Skip manifests from files, which cannot be created through the API.
  .filter(({ metadata }) => !metadata.name?.endsWith('.static.k8s.io'));

let server: TestServer;
beforeAll(async () => {
  server = await serveKinds(kinds, { flags: ['--admission-webhook-services=policy/webhooks=10.0.0.7:8443'] });
});
afterAll(() => server.close());

test('docs/admission.md has examples', () => {
  expect(objects.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['ValidatingWebhookConfiguration', 'MutatingWebhookConfiguration']),
  );
});

test.each(objects.map((object) => [object.kind, object] as const))(
  'its example %s can be created',
  async (kind, object) => {
    const plural = `${String(kind).toLowerCase().replace(/y$/, 'ie')}s`;
    const { status, body, warnings } = await server.request(
      'POST',
      `/apis/admissionregistration.k8s.io/v1/${plural}?fieldValidation=Strict`,
      object,
    );
    expect([status, warnings, body['message']]).toEqual([201, [], undefined]);
  },
);
