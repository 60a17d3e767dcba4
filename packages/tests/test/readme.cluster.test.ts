import { afterAll, beforeAll, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { describeWithKubectl } from './kubectl/kubectl.ts';
import { readDocument, runDocument } from './run-document.ts';

const slowTestMs = 120_000;
const answerMs = 20_000;

let cluster: Cluster;
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'readme-'));
beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, etcdMembers: 1, replicaFlags: ['--controllers=*'] });
  fs.mkdirSync(path.join(directory, '.cluster'));
  fs.writeFileSync(path.join(directory, '.cluster', 'ca.crt'), cluster.ca);
  fs.writeFileSync(path.join(directory, '.cluster', 'admin.token'), cluster.token);
  for (const name of ['kubeconfig', 'developer.kubeconfig'])
    fs.copyFileSync(path.join(path.dirname(cluster.developerKubeconfig), name), path.join(directory, '.cluster', name));
}, slowTestMs);
afterAll(async () => {
  fs.rmSync(directory, { recursive: true, force: true });
  await cluster.stop();
}, slowTestMs);

test(
  "the README's curl commands produce the documented output",
  () =>
    runDocument('README.md', '## Two minutes with curl', {
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
  test(
    'the README shows what kubectl prints',
    () => runDocument('README.md', '### kubectl', { directory, adaptCommand: (command) => command, answerMs }),
    slowTestMs,
  );

  test(
    'a kind is defined, used and removed as documented',
    () => {
      const document = 'docs/custom-resources.md';
      const [, definition = ''] = /```yaml\n([^]*?)```/.exec(readDocument(document)) ?? [];
      fs.writeFileSync(path.join(directory, 'lamps.yaml'), definition);
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
