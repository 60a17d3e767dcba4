import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { testAuthority } from '../../certificates/test/test-authority.ts';
import { readDocument } from './document-steps.ts';
import { describeWithKubectl } from './kubectl/kubectl.ts';
import { runDocument } from './run-document.ts';

const slowTestMs = 120_000;
const answerMs = 40_000;

/** A cluster like that of `npm start`, and a folder like a checkout in which it runs. */
interface Checkout {
  readonly directory: string;
  readonly cluster: Cluster;
  readonly stop: () => Promise<void>;
}

const root = path.resolve(import.meta.dirname, '..', '..', '..');
const definition = 'docs/examples/lamps.yaml';

async function openCheckout(): Promise<Checkout> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'readme-'));
  fs.cpSync(path.join(root, 'docs', 'examples'), path.join(directory, 'docs', 'examples'), { recursive: true });
  // The local cluster does not sign certificates of clients unless it is told to.
  const { certificate, privateKey } = await testAuthority('users');
  const files = { certificate: path.join(directory, 'users.crt'), key: path.join(directory, 'users.key') };
  fs.writeFileSync(files.certificate, certificate);
  fs.writeFileSync(files.key, privateKey);
  const replicaFlags = [
    '--controllers=*',
    `--client-ca-file=${files.certificate}`,
    `--cluster-signing-cert-file=${files.certificate}`,
    `--cluster-signing-key-file=${files.key}`,
  ];
  const cluster = await startCluster({ replicas: 2, etcdMembers: 1, replicaFlags });
  fs.mkdirSync(path.join(directory, '.cluster'));
  fs.writeFileSync(path.join(directory, '.cluster', 'ca.crt'), cluster.ca);
  fs.writeFileSync(path.join(directory, '.cluster', 'admin.token'), cluster.token);
  // The launcher replaces pids.json when a replica has been restarted.
  for (const name of ['kubeconfig', 'developer.kubeconfig', 'pids.json'])
    fs.symlinkSync(path.join(path.dirname(cluster.developerKubeconfig), name), path.join(directory, '.cluster', name));
  const stop = async (): Promise<void> => {
    fs.rmSync(directory, { recursive: true, force: true });
    await cluster.stop();
  };
  return { directory, cluster, stop };
}

let checkout: Checkout;
beforeAll(async () => {
  checkout = await openCheckout();
}, slowTestMs);
afterAll(() => checkout.stop(), slowTestMs);

test(
  'the curl commands of the tutorial produce the documented output',
  () =>
    runDocument('docs/tutorial.md', '## The API with curl', {
      directory: checkout.directory,
      adaptCommand: (command) =>
        command
          // On a terminal, curl prints each line immediately.
          .replace('curl -s', 'curl -sN')
          .replaceAll('https://127.0.0.1:6443', checkout.cluster.pids().front.url),
      answerMs,
    }),
  slowTestMs,
);

describeWithKubectl('with kubectl', () => {
  const withKubectl = (document: string, heading: string, { directory } = checkout): Promise<void> => {
    const env = { ...process.env, KUBECONFIG: path.join(directory, '.cluster', 'kubeconfig') };
    return runDocument(document, heading, { directory, env, adaptCommand: (command) => command, answerMs });
  };

  // It kills a replica, and no new definition is established until the Lease of that has expired.
  test(
    'the README shows what kubectl prints',
    async () => {
      const own = await openCheckout();
      try {
        await withKubectl('README.md', '## Try it', own);
      } finally {
        await own.stop();
      }
    },
    slowTestMs,
  );

  test(
    'the tutorial shows what kubectl prints',
    () => withKubectl('docs/tutorial.md', '## Accounts and rights with kubectl'),
    slowTestMs,
  );

  test(
    'a kind is defined, used and removed as documented',
    () => {
      const document = 'docs/custom-resources.md';
      expect(readDocument(document)).toContain(readDocument(definition));
      return withKubectl(document, '## Define a kind');
    },
    slowTestMs,
  );

  test(
    'a policy refuses what the developer creates, as documented',
    () => {
      const document = 'docs/admission.md';
      for (const object of readDocument('docs/examples/owned-accounts.yaml').split('---\n'))
        expect(readDocument(document)).toContain(object);
      return withKubectl(document, '## Policies');
    },
    slowTestMs,
  );

  test.each([
    ['docs/authentication.md', '## Certificates of users'],
    ['docs/authentication.md', '## Service account tokens'],
    ['docs/authorization.md', '## RBAC'],
    ['docs/clients.md', '## The API reference in a browser'],
  ])('%s shows what kubectl prints: %s', (document, heading) => withKubectl(document, heading), slowTestMs);
});
