/**
 * Measures what is left of a replica at ten times the load that it sustains: the requests of one greedy user that succeed,
 * and the latency of a polite user of the same priority level. With KUBE_APISERVER_BIN it is that kube-apiserver.
 *
 *   npm run bench -- overload [seconds of each load, 10 by default]
 *
 * Replica, etcd and both users share the cores, and replica and etcd come first.
 */
import os from 'node:os';
import { requireValue, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { startCluster } from '@cluster-apiserver/testkit/cluster';
import { kubeApiserverProgram, startKubeApiserver } from '@cluster-apiserver/testkit/kube-apiserver';
import { type Client, http1Client, http2Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { raiseSession } from './hostile/programs.ts';
import { countRequests, sendPaced } from './paced-load.ts';

const [seconds = 10] = process.argv.slice(2).map(Number);
/** Enough to keep the replica busy, and too few to wait long. */
const peakConnections = 16;
const overloadConnections = 1_000;
const overload = 10;
const handshakesMs = 5_000;
const politeIntervalMs = 10;
const listed = 1_000;
const resource = 'configmaps';
const politePath = '/api/v1/namespaces/polite/configmaps/c';

interface Workload {
  readonly name: string;
  /** Of `apiserver_request_total`, for requests that succeed. */
  readonly labels: Readonly<Record<string, string>>;
}
const workloads: readonly Workload[] = [
  { name: 'list', labels: { verb: 'LIST', code: '200' } },
  { name: 'create', labels: { verb: 'POST', code: '201' } },
];

const measured = await (kubeApiserverProgram === undefined ? startReplica() : startOther());
const { url, ca } = measured;
try {
  for (const pid of measured.pids) raiseSession(pid);
  raiseSession(process.pid);
  os.setPriority(-19);
  const admin = http1Client(url, measured);
  const create = (resource: string, body: object): Promise<string> => requireSuccess(admin, 'POST', resource, { body });
  for (const name of ['polite', 'listed', 'created']) await create('/api/v1/namespaces', { metadata: { name } });
  const [greedy, polite] = await Promise.all(['greedy', 'polite'].map((name) => openAccount(name, create)));
  await create('/api/v1/namespaces/polite/configmaps', { metadata: { name: 'c' }, data: { text: 'x'.repeat(600) } });
  for (let at = 0; at < listed; at++)
    await create('/api/v1/namespaces/listed/configmaps', {
      metadata: { name: `c-${at}` },
      data: { text: 'x'.repeat(600) },
    });
  const client = http2Client(url, { ca, token: requireValue(polite) });
  await measurePolite(client);
  const alone = await measurePolite(client);
  console.log(`The polite user alone: ${show(alone)}\n`);
  console.log('| load | sustained a second | offered | served | of sustained | polite user | errors |');
  console.log('|---|---|---|---|---|---|---|');
  for (const { name, labels } of workloads) {
    const served = await measureLoad(requireValue(greedy), name, labels, peakConnections, 0);
    const pauseMs = (overloadConnections * 1_000) / (overload * served.ok);
    const [over, others] = await Promise.all([
      measureLoad(requireValue(greedy), name, labels, overloadConnections, pauseMs),
      // The handshakes of so many connections are another test: `hostile`.
      sleep(clock, handshakesMs).then(() => measurePolite(client)),
    ]);
    console.log(
      `| ${name} | ${served.ok.toFixed(0)} | ${(over.ok + over.refused).toFixed(0)} | ${over.ok.toFixed(0)} | ${((100 * over.ok) / served.ok).toFixed(0)} % | ${show(others)}, ${(others.p99Ms / alone.p99Ms).toFixed(1)} times | ${others.errors} |`,
    );
  }
  client.close();
  admin.close();

  /** Answers a second, by the server's own count. */
  async function measureLoad(
    token: string,
    workload: string,
    labels: Readonly<Record<string, string>>,
    connections: number,
    pauseMs: number,
  ): Promise<{ readonly ok: number; readonly refused: number }> {
    const count = async () => {
      const { body } = await admin.request('GET', '/metrics');
      const { verb = '' } = labels;
      return {
        ok: countRequests(body, { ...labels, resource }),
        refused: countRequests(body, { verb, code: '429', resource }),
        atMs: clock.monotonicMs(),
      };
    };
    const running = sendPaced({
      url,
      token,
      workload,
      connections,
      seconds: seconds + handshakesMs / 1_000 + 1,
      pauseMs,
    });
    await sleep(clock, handshakesMs);
    const before = await count();
    await sleep(clock, seconds * 1_000);
    const after = await count();
    await running;
    const elapsed = (after.atMs - before.atMs) / 1_000;
    return { ok: (after.ok - before.ok) / elapsed, refused: (after.refused - before.refused) / elapsed };
  }
} finally {
  await measured.stop();
}

interface Measured {
  readonly url: string;
  readonly ca: Buffer;
  readonly token: string;
  readonly pids: readonly number[];
  readonly stop: () => Promise<void>;
}

async function startReplica(): Promise<Measured> {
  const cluster = await startCluster({ replicas: 1, etcdMembers: 1 });
  const { replicas, etcd } = cluster.pids();
  const pids = [...replicas, ...etcd].map(({ pid }) => pid);
  const { ca, token, stop } = cluster;
  return { url: requireValue(replicas[0]).url, ca, token, pids, stop };
}

async function startOther(): Promise<Measured> {
  const server = await startKubeApiserver();
  const { url, certificate: ca, token, pid, etcd, stop } = server;
  return { url, ca, token, pids: [pid, etcd.pid], stop };
}

/** A service account that may do everything, and its token. */
async function openAccount(name: string, create: (resource: string, body: object) => Promise<string>): Promise<string> {
  await create('/api/v1/namespaces/default/serviceaccounts', { metadata: { name } });
  await create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', name, namespace: 'default' }],
  });
  const token = await create(`/api/v1/namespaces/default/serviceaccounts/${name}/token`, { spec: {} });
  return (JSON.parse(token) as { status: { token: string } }).status.token;
}

function show({ p50Ms, p99Ms }: Latencies): string {
  return `p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`;
}

interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly errors: number;
}

/** Gets at a steady rate, whether those before have been answered or not. Latency counts from when a request was due. */
async function measurePolite(client: Client): Promise<Latencies> {
  const latencies: number[] = [];
  let errors = 0;
  const startMs = clock.monotonicMs();
  const open: Promise<void>[] = [];
  const ask = async (dueMs: number): Promise<void> => {
    const { status } = await client.request('GET', politePath);
    if (status !== 200) errors++;
    latencies.push(clock.monotonicMs() - dueMs);
  };
  for (let at = 0; at * politeIntervalMs < seconds * 1_000; at++) {
    const dueMs = startMs + at * politeIntervalMs;
    await sleep(clock, Math.max(0, dueMs - clock.monotonicMs()));
    open.push(ask(dueMs));
  }
  await Promise.all(open);
  const sorted = latencies.toSorted((one, other) => one - other);
  const quantile = (part: number): number => sorted[Math.floor(part * (sorted.length - 1))] ?? 0;
  return { p50Ms: quantile(0.5), p99Ms: quantile(0.99), errors };
}
