/** The files that a replica reloads, each with contents that differ in a number. */
import { generatePrivateKey } from '@cluster-apiserver/certificates';
import { testAuthority } from '../../../certificates/test/test-authority.ts';
import { kubeconfig } from '../kubeconfig.ts';

export interface ReloadedFile {
  /** Below the directory of the replica. */
  readonly name: string;
  readonly flag: string;
  /** A valid content; another one for each number. */
  content(turn: number): Promise<string> | string;
  /** Without the file, or with an empty one, there are fewer objects, which is as valid. */
  readonly mayBeMissing?: true;
}

const key = (name: string): object => ({ name, secret: Buffer.alloc(32, name).toString('base64') });

/** The first key encrypts, so that the judge needs no other one. */
export const encryptionWith = (...names: readonly string[]): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.platform.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['*.*'], providers: [{ aesgcm: { keys: names.map(key) } }] }],
  });

const auditPolicy = (turn: number): string =>
  JSON.stringify({
    apiVersion: 'audit.k8s.io/v1',
    kind: 'Policy',
    rules: [{ level: 'None', users: [`user-${turn}`] }, { level: 'Metadata' }],
  });

/** Nothing listens there. */
const webhookAt = (turn: number): string =>
  kubeconfig({ server: `https://127.0.0.1:1/${turn}` }, { token: `token-${turn}` });

const staticPolicy = (turn: number): string =>
  JSON.stringify({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: `number-${turn}.static.k8s.io` },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['serviceaccounts'] },
        ],
      },
      validations: [{ expression: 'true' }],
    },
  });

const authorityCalled = async (name: string): Promise<string> => (await testAuthority(name)).certificate;

export const reloadedFiles: readonly ReloadedFile[] = [
  {
    name: 'encryption.yaml',
    flag: 'encryption-provider-config',
    content: (turn) => encryptionWith('first', `other${turn}`),
  },
  {
    name: 'authentication.yaml',
    flag: 'authentication-config',
    content: (turn) =>
      JSON.stringify({
        apiVersion: 'apiserver.config.k8s.io/v1',
        kind: 'AuthenticationConfiguration',
        anonymous: { enabled: true, conditions: [{ path: `/path-${turn}` }] },
      }),
  },
  {
    name: 'abac.jsonl',
    flag: 'authorization-policy-file',
    content: (turn) =>
      JSON.stringify({
        apiVersion: 'abac.authorization.kubernetes.io/v1beta1',
        kind: 'Policy',
        spec: { user: `user-${turn}`, nonResourcePath: '*' },
      }),
  },
  {
    name: 'audit-policy.yaml',
    flag: 'audit-policy-file',
    content: auditPolicy,
  },
  {
    name: 'clients.crt',
    flag: 'client-ca-file',
    content: (turn) => authorityCalled(`clients-${turn}`),
  },
  {
    name: 'proxies.crt',
    flag: 'requestheader-client-ca-file',
    content: (turn) => authorityCalled(`proxies-${turn}`),
  },
  {
    name: 'policies/policy.json',
    flag: 'admission-control-config-file',
    content: staticPolicy,
    mayBeMissing: true,
  },
  {
    name: 'authorization-webhook.kubeconfig',
    flag: 'authorization-webhook-config-file',
    content: webhookAt,
  },
  {
    name: 'token-webhook.kubeconfig',
    flag: 'authentication-token-webhook-config-file',
    content: webhookAt,
  },
  {
    name: 'audit-webhook.kubeconfig',
    flag: 'audit-webhook-config-file',
    content: webhookAt,
  },
  {
    name: 'signing.key',
    flag: 'service-account-signing-key-file',
    content: () => generatePrivateKey(),
  },
];
