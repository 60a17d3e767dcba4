/**
 * Measures reads and writes of ServiceAccounts by one user while another one sends events at a given rate. The events
 * have limits per namespace and source, and an etcd of their own, which answers or stands still, or that of all kinds.
 * Everything shares the cores. The first user also works before and after the flood, together as long as in it.
 *
 *   node --conditions=source packages/tests/bench/event-flood.ts [seconds, 60] [events a second, 20000]
 *     [own|stopped|shared] [events a second that a namespace may have, 500]
 */
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { http1Client, requestOnce, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { adminToken, type BenchServer, startBenchServer, thisCheckout } from './compared-servers.ts';
import { countRequests, sendPaced } from './paced-load.ts';

const connections = 500;
/** The handshakes of the flood are not measured. */
const handshakesMs = 3_000;
/** Codes of answers. */
const counted = ['201', '429', '503', '504'];
const politeClients = 8;
const accounts = '/api/v1/namespaces/polite/serviceaccounts';

const [seconds = 60, perSecond = 20_000] = process.argv.slice(2, 4).map(Number);
const [mode = 'own', admittedPerSecond = 500] = [process.argv[4], ...process.argv.slice(5, 6).map(Number)];

const eventLimits = {
  apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
  kind: 'Configuration',
  limits: [
    { type: 'Namespace', qps: admittedPerSecond, burst: 2 * admittedPerSecond },
    { type: 'SourceAndObject', qps: 50, burst: 100 },
  ],
};
const admissionConfiguration = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AdmissionConfiguration',
  plugins: [{ name: 'EventRateLimit', configuration: eventLimits }],
};

await measure();

async function measure(): Promise<void> {
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
    execFileSync('taskset', ['-acp', `0-${os.availableParallelism() - 1}`, `${server.pid}`]);
    await allowAll(server, ['polite', 'flood']);
    await createReadAccount(server);
    await workPolitely(server, 2); // warms up
    const before = await workPolitely(server, seconds / 2);
    if (mode === 'stopped') await own.members[0]?.signal('SIGSTOP');
    const flood = sendPaced({
      url: server.url,
      token: 'flood',
      workload: 'event',
      connections,
      seconds: seconds + handshakesMs / 1_000 + 1,
      // If they are answered at once.
      pauseMs: (connections * 1_000) / perSecond,
    });
    await sleep(clock, handshakesMs);
    const begun = await readCounts(server);
    const flooded = await workPolitely(server, seconds);
    const ended = await readCounts(server);
    await flood;
    if (mode === 'stopped') await own.members[0]?.signal('SIGCONT');
    // The polite user's own objects make the replica slower, too.
    const after = await workPolitely(server, seconds / 2);
    const rates = counted.map(
      (code, at) => `${code} ${(((ended[at] ?? 0) - (begun[at] ?? 0)) / seconds).toFixed(0)}/s`,
    );
    console.log(`etcd of events ${mode}; answers to them: ${rates.join(', ')}`);
    for (const what of ['reads', 'writes'] as const) {
      const share = (200 * flooded[what]) / (before[what] + after[what]);
      const perSecond = [before, flooded, after].map((work) => `${work[what].toFixed(0)}/s`);
      console.log(`${what} before, in and after the flood: ${perSecond.join(', ')}; in it ${share.toFixed(0)} %`);
    }
    console.log(`slowest: ${[before, flooded, after].map(({ slowestMs }) => `${slowestMs.toFixed(0)} ms`).join(', ')}`);
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
  await requireSuccess(client, 'POST', `/apis/${group}/v1/clusterrolebindings`, { body });
  client.close();
}

async function createReadAccount({ url, ca }: BenchServer): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  await requestOnce(url, { ca, token: adminToken }, 'POST', accounts, { body });
}

interface PoliteWork {
  /** In a second. */
  readonly reads: number;
  /** In a second. */
  readonly writes: number;
  readonly slowestMs: number;
}

/** As many clients read as write, each one request after the other. */
async function workPolitely(server: BenchServer, seconds: number): Promise<PoliteWork> {
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
        if (what === 'reads') await requireSuccess(client, 'GET', `${accounts}/default`);
        else await requireSuccess(client, 'POST', accounts, { body });
        done[what]++;
        done.slowestMs = Math.max(done.slowestMs, clock.monotonicMs() - sentMs);
      }
      client.close();
    }),
  );
  const took = (clock.monotonicMs() - startMs) / 1_000;
  return { ...done, reads: done.reads / took, writes: done.writes / took };
}

async function readCounts({ url, ca }: BenchServer): Promise<readonly number[]> {
  const { body } = await requestOnce(url, { ca, token: adminToken }, 'GET', '/metrics');
  return counted.map((code) => countRequests(body, { resource: 'events', verb: 'POST', code }));
}
