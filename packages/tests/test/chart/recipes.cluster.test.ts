/**
 * The commands of the chart's pages with the real Helm and kubectl on a real kube-apiserver. It has no nodes and no
 * controllers: this test says for them that Deployments are rolled out and Jobs are complete.
 */
import { afterAll, beforeAll, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack, sleep, systemClock } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import {
  type KubeApiserver,
  kubeApiserverProgram,
  startKubeApiserver,
} from '@cluster-apiserver/testkit/kube-apiserver';
import { describeIf } from '../describe-if.ts';
import { blocksOf, readDocument } from '../document-steps.ts';
import { chartSections, partsOf, type Section } from '../documented-sections.ts';
import { kubeconfig } from '../kubeconfig.ts';
import { hasKubectl } from '../kubectl/kubectl.ts';
import { runDocument } from '../run-document.ts';
import { kubeconfigOf } from '../clients/client-programs.ts';
import { withAccountTokens } from '../service-accounts/with-account-tokens.ts';
import { serveKinds } from '../serve-kinds.ts';
import { root } from './chart-files.ts';
import { hasHelm, helmEnvironment, installDefinitions } from './helm.ts';

const slowTestMs = 180_000;
const answerMs = 60_000;
const reason = 'there is no Helm, no kubectl, or no KUBE_APISERVER_BIN names a kube-apiserver';

/** Of trials of their own, beside the production of the other sections. */
const trials: Readonly<Record<string, string>> = {
  'docs/install-helm.md: ## A trial': 'trial',
  'helm/cluster-apiserver/README.md: # Helm chart of the cluster API server': 'chart-trial',
};
/** In which the controllers act. */
const namespaces = ['platform', ...Object.values(trials)];

describeIf(hasHelm && hasKubectl && kubeApiserverProgram !== undefined, 'on Kubernetes', reason, () => {
  const cleanup = new CleanupStack();
  let directory: string;

  beforeAll(async () => {
    const kubernetes = await startKubeApiserver();
    cleanup.defer('Kubernetes', () => kubernetes.stop());
    await installDefinitions(kubernetes);
    const stop = playControllers(kubernetes);
    cleanup.defer('controllers', stop);
    const server = await serveKinds(kinds, withAccountTokens());
    cleanup.defer('server', () => server.close());
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'recipes-'));
    cleanup.defer('files', () => fs.rmSync(directory, { recursive: true }));
    const write = (name: string, text: string): void => fs.writeFileSync(path.join(directory, name), text);
    fs.symlinkSync(path.join(root, 'helm'), path.join(directory, 'helm'));
    write('kubeconfig', kubeconfig({ server: kubernetes.url, 'insecure-skip-tls-verify': true }, kubernetes));
    const target = { url: server.url, ca: server.certificate, token: server.token };
    write('api.kubeconfig', kubeconfigOf(target));
    write('audit.kubeconfig', kubeconfig({ server: 'https://audit.example.com' }));
    const values = blocksOf(readDocument('docs/install-helm.md')).find(
      ({ heading, language }) => heading === '## Production' && language === 'yaml',
    );
    write('values.yaml', values?.text ?? '');
    write('encryption.yaml', '# {name: key-1, secret: ZXhhbXBsZQ==}\n');
  }, slowTestMs);
  afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

  const run = (section: Section): Promise<unknown> =>
    runDocument(...partsOf(section), {
      // The README of the chart is beside its folder.
      directory: section.startsWith('helm/') ? path.join(directory, 'helm') : directory,
      env: { ...helmEnvironment(), KUBECONFIG: path.join(directory, 'kubeconfig') },
      adaptCommand: (command) =>
        command
          // No kubelet, no wait for it.
          .replace('sleep 120', 'sleep 0')
          .replaceAll(/\bplatform\b/g, trials[section] ?? 'platform'),
      answerMs,
    });

  test(
    'the chart is installed, and the recipes work as they are written, one after the other',
    async () => {
      for (const section of chartSections) await run(section);
    },
    slowTestMs,
  );
});

/** Until it is called, Deployments and Jobs of the namespace become what their controllers would make of them. */
function playControllers(kubernetes: KubeApiserver): () => Promise<void> {
  let isPlaying = true;
  const play = async (collection: string, statusOf: (object: Workload) => object): Promise<void> => {
    const { body } = await kubernetes.request('GET', collection);
    for (const object of (JSON.parse(body) as { readonly items: readonly Workload[] }).items) {
      const { status, metadata } = object;
      if (status.succeeded === 1 || status.observedGeneration === metadata.generation) continue;
      await kubernetes.request('PUT', `${collection}/${metadata.name}/status`, { ...object, status: statusOf(object) });
    }
  };
  const playIn = async (namespace: string): Promise<void> => {
    await play(`/apis/apps/v1/namespaces/${namespace}/deployments`, ({ metadata, spec }) => ({
      observedGeneration: metadata.generation,
      replicas: spec.replicas,
      updatedReplicas: spec.replicas,
      readyReplicas: spec.replicas,
      availableReplicas: spec.replicas,
    }));
    const now = new Date().toISOString().replace(/\.\d+/, '');
    await play(`/apis/batch/v1/namespaces/${namespace}/jobs`, () => ({
      startTime: now,
      completionTime: now,
      succeeded: 1,
      conditions: ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, status: 'True' })),
    }));
    await play(`/api/v1/namespaces/${namespace}/pods`, () => ({ phase: 'Succeeded', observedGeneration: 1 }));
  };
  const playing = (async () => {
    while (isPlaying) {
      for (const namespace of namespaces) await playIn(namespace);
      await sleep(systemClock, 200);
    }
  })();
  return async () => {
    isPlaying = false;
    await playing;
  };
}

interface Workload {
  readonly metadata: { readonly name: string; readonly generation: number };
  readonly spec: { readonly replicas: number };
  readonly status: { readonly observedGeneration?: number; readonly succeeded?: number };
}
