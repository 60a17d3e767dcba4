/** What a real kube-apiserver and this server answer to configurations that cannot be applied, or whose entries lack keys. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import {
  type KubeApiserver,
  kubeApiserverProgram,
  startKubeApiserver,
} from '@cluster-apiserver/testkit/kube-apiserver';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { describeIf } from './describe-if.ts';
import { serveKinds, type TestServer } from './serve-kinds.ts';

const startMs = 120_000;

type Configuration = readonly [path: string, configuration: object];

const inDefault = '/api/v1/namespaces/default';
const configMap = (metadata: object, fields: object = {}): Configuration => [
  `${inDefault}/configmaps/a`,
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', ...metadata }, ...fields },
];
const account = (fields: object): Configuration => [
  `${inDefault}/serviceaccounts/a`,
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'a' }, ...fields },
];
const lease = (spec: object): Configuration => [
  '/apis/coordination.k8s.io/v1/namespaces/default/leases/a',
  { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'a' }, spec },
];
const registration = 'admissionregistration.k8s.io/v1';
const webhook = (fields: object): Configuration => [
  `/apis/${registration}/validatingwebhookconfigurations/a`,
  {
    apiVersion: registration,
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'a' },
    webhooks: [
      { clientConfig: { url: 'https://x.example/' }, sideEffects: 'None', admissionReviewVersions: ['v1'], ...fields },
    ],
  },
];
const owner = { apiVersion: 'v1', kind: 'A', name: 'x' };

const configurations: Readonly<Record<string, Configuration>> = {
  'a number as text': configMap({}, { data: { a: 1 } }),
  'a text as map': configMap({}, { data: 'x' }),
  'a text as truth value': configMap({}, { immutable: 'x' }),
  'an object as text': configMap({}, { data: { a: { b: ['c', 1.5] } } }),
  'a field that there is not': configMap({}, { zork: 1 }),
  'a label that is no text': configMap({ labels: { a: true } }),
  'a text as number': configMap({ generation: 'x' }),
  'metadata that are no map': [configMap({})[0], { apiVersion: 'v1', kind: 'ConfigMap', metadata: 'x' }],
  'a name that is no text': configMap({ name: 5 }),
  'another name': configMap({ name: 'b' }),
  'another namespace': configMap({ namespace: 'x' }),
  'finalizers that repeat': configMap({ finalizers: ['a/b', 'a/b'] }),
  'an owner without uid': configMap({ ownerReferences: [owner] }),
  'owners without uid': configMap({ ownerReferences: [owner, { ...owner, name: 'y' }] }),
  'an owner with a field that there is not': configMap({ ownerReferences: [{ ...owner, uid: 'u', zork: 1 }] }),
  'a Secret without name': account({ secrets: [{ namespace: 'x' }] }),
  'a Secret with a field that there is not': account({ secrets: [{ name: 'x', zork: 1 }] }),
  'a Lease whose duration is a text': lease({ leaseDurationSeconds: 'x' }),
  'a webhook without name': webhook({}),
  'a condition of a webhook without name': webhook({ name: 'a.b.c', matchConditions: [{ expression: 'true' }] }),
  'a time that is none': lease({ renewTime: 'x' }),
  'a fraction of a second': lease({ leaseDurationSeconds: 1.5 }),
};

describeIf(
  kubeApiserverProgram !== undefined,
  'apply, as refused',
  'no KUBE_APISERVER_BIN names a kube-apiserver',
  () => {
    const cleanup = new CleanupStack();
    let theirs: KubeApiserver;
    let ours: TestServer;

    beforeAll(async () => {
      theirs = await startKubeApiserver();
      cleanup.defer('kube-apiserver', () => theirs.stop());
      ours = await serveKinds(kinds, { cleanup });
    }, startMs);
    afterAll(() => cleanup.close((what, error) => console.error(what, error)));

    test.each(Object.entries(configurations))('%s', async (_, [path, configuration]) => {
      const [their, our] = await Promise.all([theirs, ours].map((server) => apply(server, path, configuration)));
      // A client's mistake is never 500 here.
      expect(our?.status).toBe(their?.status === 500 ? 400 : their?.status);
      // Values that cannot be converted are named in words of this server.
      if (!their?.message.startsWith('failed to convert new object')) expect(our?.message).toBe(their?.message);
    });
  },
);

async function apply(
  { url, token, certificate }: Pick<KubeApiserver, 'url' | 'token' | 'certificate'>,
  path: string,
  body: object,
): Promise<{ readonly status: number; readonly message: string }> {
  const headers = { 'content-type': 'application/apply-patch+yaml' };
  const options = { method: 'PATCH', token, ca: certificate, headers, body };
  const { status, text } = await requestHttps(`${url}${path}?fieldManager=m&fieldValidation=Strict`, options);
  return { status, message: (JSON.parse(text) as { message: string }).message };
}
