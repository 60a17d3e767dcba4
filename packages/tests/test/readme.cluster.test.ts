import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import type { Step } from './document-steps.ts';
import { installProgram } from './documented-program.ts';
import { curlSections, kubectlSections, partsOf, type Section, startSections } from './documented-sections.ts';
import { describeWithKubectl } from './kubectl/kubectl.ts';
import { writtenPage } from './reference/pages.ts';
import { drawTour } from './reference/tour.ts';
import { runDocument, type Shell } from './run-document.ts';

const slowTestMs = 120_000;
const answerMs = 40_000;

/** A cluster like that of `npm start`, and a folder like a checkout in which it runs. */
interface Checkout {
  readonly directory: string;
  readonly cluster: Cluster;
  /** With the programs that documents call, for servers beside the cluster. */
  readonly env: NodeJS.ProcessEnv;
  readonly stop: () => Promise<void>;
}

const root = path.resolve(import.meta.dirname, '..', '..', '..');

function makeDirectory(): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'readme-'));
  fs.cpSync(path.join(root, 'docs', 'examples'), path.join(directory, 'docs', 'examples'), { recursive: true });
  return directory;
}

async function openCheckout(): Promise<Checkout> {
  const directory = makeDirectory();
  const cluster = await startCluster({ replicas: 2, etcdMembers: 1, replicaFlags: ['--controllers=*'] });
  fs.mkdirSync(path.join(directory, '.cluster'));
  fs.writeFileSync(path.join(directory, '.cluster', 'ca.crt'), cluster.ca);
  fs.writeFileSync(path.join(directory, '.cluster', 'admin.token'), cluster.token);
  for (const name of ['kubeconfig', 'developer.kubeconfig'])
    fs.symlinkSync(path.join(path.dirname(cluster.developerKubeconfig), name), path.join(directory, '.cluster', name));
  const program = await installProgram(directory, cluster.pids().etcd[0]?.url ?? '');
  const env = { ...process.env, ...program, KUBECONFIG: path.join(directory, '.cluster', 'kubeconfig') };
  const stop = async (): Promise<void> => {
    fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    await cluster.stop();
  };
  return { directory, cluster, env, stop };
}

let checkout: Checkout;
beforeAll(async () => {
  checkout = await openCheckout();
}, slowTestMs);
afterAll(() => checkout.stop(), slowTestMs);

const run = (section: Section, shell: Partial<Shell> = {}): Promise<readonly Step[]> =>
  runDocument(...partsOf(section), { directory: checkout.directory, env: checkout.env, answerMs, ...shell });

test.each(curlSections)(
  '%s: curl prints what the page shows',
  (section) =>
    run(section, {
      adaptCommand: (command) =>
        command
          // On a terminal, curl prints each line immediately.
          .replace('curl -s', 'curl -sN')
          .replaceAll('https://127.0.0.1:6443', checkout.cluster.pids().front.url),
    }),
  slowTestMs,
);

describeWithKubectl('with kubectl', () => {
  test.each(kubectlSections)(
    '%s: kubectl prints what the page shows',
    (section) => run(section, { adaptCommand: (command) => command.replaceAll(' …', '') }),
    slowTestMs,
  );

  // It kills a replica, and no new definition is established until the Lease of that has expired.
  test(
    'npm start prints what the tutorial shows; then kubectl prints what the README and its picture show',
    async () => {
      const [greeting, tour] = startSections;
      const directory = makeDirectory();
      const env = { ...process.env, KUBECONFIG: path.join(directory, '.cluster', 'kubeconfig') };
      const showReadme = async (): Promise<void> => {
        // It runs.
        const adaptCommand = (command: string): string => (command === 'npm start' ? ':' : command);
        const [start, ...steps] = await run(tour, { directory, env, adaptCommand });
        expect(start?.command).toBe('npm start');
        expect(drawTour(steps)).toBe(writtenPage('docs/images/tour.svg'));
      };
      try {
        await run(greeting, {
          directory,
          env,
          adaptCommand: (command) => startIn(directory, command),
          afterwards: showReadme,
        });
      } finally {
        await stopIn(directory);
        fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
      }
    },
    slowTestMs,
  );
});

/** In this checkout, with the files and the port of another one; ends when the cluster is ready. */
const startIn = (directory: string, command: string): string => `
  (cd '${root}' && exec setsid ${command} -- --data-dir='${directory}/.cluster' --port=0 >'${directory}/log' 2>&1) & started=$!
  until grep --quiet '^  stop ' log; do kill -0 $started || break; sleep 0.1; done
  sed 's#${directory}/##g' log`;

/** As the tutorial says. */
async function stopIn(directory: string): Promise<void> {
  const pid = / kill (\d+)$/m.exec(fs.readFileSync(path.join(directory, 'log'), 'utf8'))?.[1];
  process.kill(Number(pid));
  await until('its end', () => !fs.existsSync(`/proc/${pid}`) || undefined, answerMs);
}
