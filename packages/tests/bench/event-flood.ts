/**
 * Measures reads and writes of ServiceAccounts by one user while another one sends events at a given rate. The events
 * have limits per namespace and source, and an etcd of their own, which answers or stands still, or that of all kinds.
 * Everything shares the cores.
 *
 *   node --conditions=source packages/tests/bench/event-flood.ts [seconds, 60] [events a second, 20000] [own|stopped|shared]
 */
import fs from 'node:fs';
import http2 from 'node:http2';
import os from 'node:os';
import path from 'node:path';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { CleanupStack, systemClock as clock } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { http1Client } from '../test/fault/client.ts';
import { adminToken, type BenchServer, startBenchServer, thisCheckout } from './compared-servers.ts';

const politeClients = 8;
const accounts = '/api/v1/namespaces/polite/serviceaccounts';
const events = '/api/v1/namespaces/flooded/events';

interface Flood {
  readonly url: string;
  readonly ca: Uint8Array;
  readonly perSecond: number;
}

const eventLimits = {
  apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
  kind: 'Configuration',
  limits: [
    { type: 'Namespace', qps: 500, burst: 1_000 },
    { type: 'SourceAndObject', qps: 50, burst: 100 },
  ],
};
const admissionConfiguration = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AdmissionConfiguration',
  plugins: [{ name: 'EventRateLimit', configuration: eventLimits }],
};

if (isMainThread) await measure();
else sendEvents(workerData as Flood);

async function measure(): Promise<void> {
  const [seconds = 60, perSecond = 20_000] = process.argv.slice(2, 4).map(Number);
  const [mode = 'own'] = process.argv.slice(4);
  const cleanup = new CleanupStack();
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'event-flood-'));
  cleanup.defer('files', () => fs.rmSync(home, { recursive: true }));
  try {
    const [main, own] = await Promise.all([startEtcd(), startEtcd()]);
    cleanup.defer('etcds', async () => void (await Promise.all([main.stop(), own.stop()])));
    const limits = path.join(home, 'admission.json');
    fs.writeFileSync(limits, JSON.stringify(admissionConfiguration));
    const server = await startBenchServer({
      name: 'flooded',
      checkout: thisCheckout,
      endpoints: main.endpoints,
      home,
      users: ['polite,polite,1', 'flood,flood,2'],
      flags: [
        '--enable-admission-plugins=EventRateLimit',
        `--admission-control-config-file=${limits}`,
        ...(mode === 'shared' ? [] : [`--etcd-servers-overrides=/events#${own.endpoints.join(';')}`]),
      ],
    });
    cleanup.defer('server', async () => void (await server.stop()));
    await allowAll(server, ['polite', 'flood']);
    await createReadAccount(server);
    await workPolitely(server, 2); // warms up
    const quiet = await workPolitely(server, seconds / 4);
    if (mode === 'stopped') await own.members[0]?.signal('SIGSTOP');
    const flood = new Worker(new URL(import.meta.url), {
      workerData: { url: server.url, ca: server.ca, perSecond } satisfies Flood,
      execArgv: process.execArgv,
    });
    const answers = new Map<string, number>();
    flood.on('message', (answer: string) => answers.set(answer, (answers.get(answer) ?? 0) + 1));
    const flooded = await workPolitely(server, seconds);
    await flood.terminate();
    const rates = [...answers].map(([answer, count]) => `${answer} ${(count / seconds).toFixed(0)}/s`).join(', ');
    console.log(`etcd of events ${mode}; answers to them: ${rates}`);
    for (const what of ['reads', 'writes'] as const)
      console.log(
        `${what}: ${quiet[what].toFixed(0)}/s without the flood, ${flooded[what].toFixed(0)}/s with it: ${((100 * flooded[what]) / quiet[what]).toFixed(0)} %`,
      );
    console.log(`slowest: ${quiet.slowestMs.toFixed(0)} ms without it, ${flooded.slowestMs.toFixed(0)} ms with it`);
  } finally {
    await cleanup.close();
  }
}

async function allowAll(server: BenchServer, users: readonly string[]): Promise<void> {
  const client = http1Client(server.url, { ca: server.ca, token: adminToken });
  const group = 'rbac.authorization.k8s.io';
  const body = {
    apiVersion: `${group}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: 'bench' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: users.map((name) => ({ apiGroup: group, kind: 'User', name })),
  };
  const { status } = await client.request('POST', `/apis/${group}/v1/clusterrolebindings`, { body });
  client.close();
  if (status !== 201) throw new Error(`the binding was answered with ${status}`);
}

async function createReadAccount(server: BenchServer): Promise<void> {
  const client = http1Client(server.url, { ca: server.ca, token: adminToken });
  await client.request('POST', accounts, {
    body: { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } },
  });
  client.close();
}

/** Reads and writes in a second, by as many clients that read as that write, each one request after the other. */
async function workPolitely(
  server: BenchServer,
  seconds: number,
): Promise<{ reads: number; writes: number; slowestMs: number }> {
  const startMs = clock.monotonicMs();
  const endMs = startMs + seconds * 1_000;
  const done = { reads: 0, writes: 0, slowestMs: 0 };
  await Promise.all(
    Array.from({ length: politeClients }, async (_, at) => {
      const client = http1Client(server.url, { ca: server.ca, token: 'polite' });
      const what = at % 2 === 0 ? 'reads' : 'writes';
      for (let n = 0; clock.monotonicMs() < endMs; n++) {
        const sentMs = clock.monotonicMs();
        const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { generateName: 'robot-' } };
        const { status } =
          what === 'reads'
            ? await client.request('GET', `${accounts}/default`)
            : await client.request('POST', accounts, { body });
        if (status !== 200 && status !== 201) throw new Error(`a polite request was answered with ${status}`);
        done[what]++;
        done.slowestMs = Math.max(done.slowestMs, clock.monotonicMs() - sentMs);
      }
      client.close();
    }),
  );
  const took = (clock.monotonicMs() - startMs) / 1_000;
  return { ...done, reads: done.reads / took, writes: done.writes / took };
}

/** Sends events at a constant rate, over connections with many streams each, until the thread ends. */
function sendEvents({ url, ca, perSecond }: Flood): void {
  const sessions = Array.from({ length: 8 }, () => http2.connect(url, { ca: Buffer.from(ca) }));
  for (const session of sessions) session.on('error', () => {}); // its streams are reported
  const startMs = clock.monotonicMs();
  let sent = 0;
  const send = (): void => {
    const due = ((clock.monotonicMs() - startMs) / 1_000) * perSecond;
    for (; sent < due; sent++) {
      const stream = sessions[sent % sessions.length]?.request({
        ':method': 'POST',
        ':path': events,
        authorization: 'Bearer flood',
        'content-type': 'application/json',
      });
      stream?.on('response', (headers) => report(String(headers[':status'])));
      stream?.on('error', () => report('no answer'));
      stream?.resume();
      stream?.end(eventText(sent));
    }
    setTimeout(send, 1);
  };
  send();
}

function report(answer: string): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of a thread has no origin
  parentPort?.postMessage(answer);
}

function eventText(n: number): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `event-${process.pid}-${n}`, namespace: 'flooded' },
    involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace: 'flooded', name: `pod-${n % 100}` },
    source: { component: 'bench' },
    reason: 'Flood',
    message: 'x'.repeat(300),
    type: 'Normal',
  });
}
