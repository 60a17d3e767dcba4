import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { readDocument } from './document-steps.ts';
import { describeWithKubectl } from './kubectl/kubectl.ts';
import { runDocument } from './run-document.ts';

const slowTestMs = 120_000;
const answerMs = 20_000;

let cluster: Cluster;
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'readme-'));
const root = path.resolve(import.meta.dirname, '..', '..', '..');
const definition = 'docs/examples/lamps.yaml';
beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, etcdMembers: 1, replicaFlags: ['--controllers=*'] });
  fs.cpSync(path.join(root, 'docs', 'examples'), path.join(directory, 'docs', 'examples'), { recursive: true });
  fs.mkdirSync(path.join(directory, '.cluster'));
  fs.writeFileSync(path.join(directory, '.cluster', 'ca.crt'), cluster.ca);
  fs.writeFileSync(path.join(directory, '.cluster', 'admin.token'), cluster.token);
  // The launcher replaces pids.json when a replica has been restarted.
  for (const name of ['kubeconfig', 'developer.kubeconfig', 'pids.json'])
    fs.symlinkSync(path.join(path.dirname(cluster.developerKubeconfig), name), path.join(directory, '.cluster', name));
}, slowTestMs);
afterAll(async () => {
  fs.rmSync(directory, { recursive: true, force: true });
  await cluster.stop();
}, slowTestMs);

test(
  'the curl commands of the tutorial produce the documented output',
  () =>
    runDocument('docs/tutorial.md', '## The API with curl', {
      directory,
      adaptCommand: (command) =>
        command
          // On a terminal, curl prints each line immediately.
          .replace('curl -s', 'curl -sN')
          .replaceAll('https://127.0.0.1:6443', cluster.pids().front.url),
      answerMs,
    }),
  slowTestMs,
);

describeWithKubectl('with kubectl', () => {
  const withKubectl = (document: string, heading: string): Promise<void> =>
    runDocument(document, heading, { directory, adaptCommand: (command) => command, answerMs });

  // The two tests define the same kind.
  afterEach(() => {
    spawnSync('kubectl', ['--kubeconfig', '.cluster/kubeconfig', 'delete', '--ignore-not-found', '-f', definition], {
      cwd: directory,
    });
  }, slowTestMs);

  test('the README shows what kubectl prints', () => withKubectl('README.md', '## Try it'), slowTestMs);

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
      fs.copyFileSync(path.join(directory, definition), path.join(directory, 'lamps.yaml'));
      const env = { ...process.env, KUBECONFIG: path.join(directory, '.cluster', 'kubeconfig') };
      return runDocument(document, '## Define a kind', {
        directory,
        env,
        adaptCommand: (command) => command,
        answerMs,
      });
    },
    slowTestMs,
  );
});
