/** cert-manager as it is, on three replicas: two controllers, its webhook and its injector of CAs. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { X509Certificate } from 'node:crypto';
import fs from 'node:fs';
import { CleanupStack } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { until } from '@cluster-apiserver/testkit/until';
import { certManagerProgram, type ClientProgram, noClients, startProgram } from '../clients/client-programs.ts';
import { describeIf } from '../describe-if.ts';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { connectKubectl, hasKubectl } from '../kubectl/kubectl.ts';
import { type Replicas, startReplicas } from '../operations/replicas.ts';
import { createObject } from './create-object.ts';
import { missing, readDefinitions } from './official-definitions.ts';

const slowTestMs = 300_000;
const issuedMs = 90_000;
const namespace = 'cert-manager';
const webhook = 'cert-manager-webhook';
const group = 'cert-manager.io/v1';
const registration = '/apis/admissionregistration.k8s.io/v1';
const resources = `/apis/${group}/namespaces/default`;
const secrets = '/api/v1/namespaces/default/secrets';

const skipped =
  missing ??
  (hasKubectl ? undefined : 'there is no kubectl on the PATH') ??
  (fs.existsSync(certManagerProgram) ? undefined : noClients);

describeIf(!skipped, 'cert-manager', skipped ?? '', () => {
  const cleanup = new CleanupStack();
  let replicas: Replicas;
  let client: Client;
  let controllers: readonly ClientProgram[];

  beforeAll(async () => {
    const etcd = await startEtcd();
    cleanup.defer('etcd', () => etcd.stop());
    const [port] = await freePorts(1);
    const flags = [`--admission-webhook-services=${namespace}/${webhook}=127.0.0.1:${port}`];
    replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{ flags }, { flags }, { flags }] });
    cleanup.defer('replicas', () => replicas.stop());
    client = http1Client(replicas.front, replicas);
    cleanup.defer('client', () => client.close());
    const target = { ...replicas, url: replicas.front };
    const kubectl = connectKubectl(target);
    cleanup.defer('kubectl', () => kubectl.close());
    const module = 'github.com/cert-manager/cert-manager';
    const { files } = readDefinitions({ module, definitions: 'deploy/crds' });
    await kubectl.stdoutOf(['apply', '--server-side', ...files.flatMap((file) => ['-f', file])]);
    await kubectl.stdoutOf('wait --for=condition=Established crd --all');
    await createObject(client, '/api/v1/namespaces', { metadata: { name: namespace } });
    for (const [kind, hook] of [
      ['validatingwebhookconfigurations', validating],
      ['mutatingwebhookconfigurations', mutating],
    ] as const)
      await createObject(client, `${registration}/${kind}`, configuration(hook));
    const start = (...args: readonly string[]): ClientProgram => {
      const program = startProgram(certManagerProgram, args, target);
      cleanup.defer('program', () => program.end());
      return program;
    };
    start('webhook', 'KUBECONFIG', `${port}`);
    start('cainjector', 'KUBECONFIG');
    controllers = [start('controller', 'KUBECONFIG'), start('controller', 'KUBECONFIG')];
    for (const kind of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'])
      await until(
        'the injected CA',
        async () => {
          const { body } = await client.request('GET', `${registration}/${kind}/${webhook}`);
          return body.includes('"caBundle"') || undefined;
        },
        issuedMs,
      );
    await until('the webhook', async () => {
      const issuer = { apiVersion: group, kind: 'ClusterIssuer', metadata: { name: 'self-signed' } };
      const body = { ...issuer, spec: { selfSigned: {} } };
      return (await client.request('POST', `/apis/${group}/clusterissuers`, { body })).status === 201 || undefined;
    });
  }, slowTestMs);
  afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

  test(
    'certificates of a self-signed and of a CA issuer are issued, also again, whichever controller and replicas live',
    async () => {
      const ofIssuer = { kind: 'ClusterIssuer', name: 'self-signed' };
      await createCertificate(client, 'root', { isCA: true, commonName: 'root', issuerRef: ofIssuer });
      const root = await issued(client, 'root');
      await createObject(client, `${resources}/issuers`, {
        apiVersion: group,
        kind: 'Issuer',
        metadata: { name: 'root' },
        spec: { ca: { secretName: 'root' } },
      });
      const leafSpec = { dnsNames: ['leaf.example'], issuerRef: { kind: 'Issuer', name: 'root' } };
      const refused = await client.request('POST', `${resources}/certificates`, {
        body: certificate('refused', { ...leafSpec, dnsNames: [] }),
      });
      expect(refused).toMatchObject({
        status: 403,
        body: expect.stringContaining('admission webhook \\"webhook.cert-manager.io\\" denied the request'),
      });
      await createCertificate(client, 'leaf', leafSpec);
      const serials = new Set<string>();
      const expectIssued = async (): Promise<void> => {
        const leaf = await issued(client, 'leaf');
        expect(leaf.verify(root.publicKey)).toBe(true);
        expect(leaf.subjectAltName).toBe('DNS:leaf.example');
        expect(serials).not.toContain(leaf.serialNumber);
        serials.add(leaf.serialNumber);
      };
      await expectIssued();

      expect((await client.request('DELETE', `${secrets}/leaf`)).status).toBe(200);
      await expectIssued();

      await leader(controllers).end('SIGKILL');
      for (const replica of replicas.all) {
        await replica.end('SIGKILL');
        await replica.start();
      }
      expect((await client.request('DELETE', `${secrets}/leaf`)).status).toBe(200);
      await expectIssued();
    },
    slowTestMs,
  );
});

function leader(controllers: readonly ClientProgram[]): ClientProgram {
  const leading = controllers.filter(({ errors }) => errors.includes('controllers have started'));
  expect(leading).toHaveLength(1);
  return leading[0] as ClientProgram;
}

const certificate = (name: string, spec: object): object => ({
  apiVersion: group,
  kind: 'Certificate',
  metadata: { name },
  spec: { secretName: name, ...spec },
});

const createCertificate = (client: Client, name: string, spec: object): Promise<void> =>
  createObject(client, `${resources}/certificates`, certificate(name, spec));

interface Condition {
  readonly type: string;
  readonly status: string;
}

/**
 * The certificate in the Secret, once there is one and the Certificate is ready. While it is still being issued, the controller
 * writes the same certificate again if its Secret is deleted.
 */
const issued = (client: Client, name: string): Promise<X509Certificate> =>
  until(
    `the certificate ${name}`,
    async () => {
      const secret = await client.request('GET', `${secrets}/${name}`);
      const { body } = await client.request('GET', `${resources}/certificates/${name}`);
      const { status } = JSON.parse(body) as { readonly status?: { readonly conditions?: readonly Condition[] } };
      const is = (type: string): boolean =>
        status?.conditions?.some((one) => one.type === type && one.status === 'True') ?? false;
      if (secret.status !== 200 || !is('Ready') || is('Issuing')) return undefined;
      const { data } = JSON.parse(secret.body) as { readonly data: Readonly<Record<string, string>> };
      const pem = data['tls.crt'];
      return pem === undefined ? undefined : new X509Certificate(Buffer.from(pem, 'base64'));
    },
    issuedMs,
  );

const everything = { apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'] };
const validating = {
  path: '/validate',
  rules: [{ ...everything, apiGroups: ['cert-manager.io', 'acme.cert-manager.io'], resources: ['*/*'] }],
};
const mutating = {
  path: '/mutate',
  rules: [
    { ...everything, operations: ['CREATE'], apiGroups: ['cert-manager.io'], resources: ['certificaterequests'] },
  ],
};

/** As its chart has it; its injector fills in the CA. */
const configuration = ({ path, rules }: { readonly path: string; readonly rules: readonly object[] }): object => ({
  metadata: {
    name: webhook,
    annotations: { 'cert-manager.io/inject-ca-from-secret': `${namespace}/${webhook}-ca` },
  },
  webhooks: [
    {
      name: 'webhook.cert-manager.io',
      rules,
      admissionReviewVersions: ['v1'],
      matchPolicy: 'Equivalent',
      failurePolicy: 'Fail',
      sideEffects: 'None',
      clientConfig: { service: { name: webhook, namespace, path } },
    },
  ],
});
