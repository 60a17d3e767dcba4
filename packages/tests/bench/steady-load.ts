/**
 * Measures memory and latency of a replica that has 80 % of the load which it sustains, for half an hour: gets, lists,
 * patches, creations and deletions of ConfigMaps, events with an etcd of their own, and watches of all changes. In each
 * minute another user floods it with events for a while, and a thousand watches of single objects end and are resumed.
 *
 *   ETCD_BIN=ETCD node --conditions=source packages/tests/bench/steady-load.ts [minutes, 30] [percent of the sustained load, 80]
 *
 * Replica, etcds and clients share the cores. Each minute is a row of a table.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack, requireValue, seededRandom, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { startCluster } from '@cluster-apiserver/testkit/cluster';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type Client, type Credentials, http1Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { readProcessState } from '../test/hostile/server-process.ts';
import { http2Transport } from '@cluster-apiserver/testkit/open-watch';

const [minutes = 30, percent = 80] = process.argv.slice(2).map(Number);
const objects = 1_000;
const watches = 20;
/** Each follows one object. */
const resumedWatches = 1_000;
const watchesPerConnection = 100;
const floodingClients = 64;
const floodMs = 10_000;
/** So that the number of stored events is constant after the warm-up. */
const eventTtl = '2m';
/** As many keep the replica busy. */
const busyClients = 16;
/** More than are ever in use at once, unless the replica falls behind. */
const pacedClients = 200;
const sustainedMs = 20_000;
const paceMs = 5;
const minuteMs = 60_000;
/** Memory first grows to its working size. */
const warmUpMinutes = 3;
const comparedMinutes = 5;
const configMaps = '/api/v1/namespaces/steady/configmaps';

/** Each is sent as often as it is in this list. */
const operations = [get, get, get, get, get, get, list, patch, patch, createAndDelete, createEvent];

const eventLimits = {
  apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
  kind: 'Configuration',
  limits: [{ type: 'Namespace', qps: 500, burst: 1_000 }],
};
const admissionConfiguration = {
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AdmissionConfiguration',
  plugins: [{ name: 'EventRateLimit', configuration: eventLimits }],
};

// An interrupted benchmark also stops its servers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const random = seededRandom(1);
const cleanup = new CleanupStack();
let created = 0;

try {
  const ofEvents = await startEtcd();
  cleanup.defer('etcd of events', () => ofEvents.stop());
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'steady-load-'));
  cleanup.defer('files', () => fs.rmSync(home, { recursive: true }));
  const limits = path.join(home, 'admission.json');
  fs.writeFileSync(limits, JSON.stringify(admissionConfiguration));
  const cluster = await startCluster({
    replicas: 1,
    etcdMembers: 1,
    replicaFlags: [
      `--etcd-servers-overrides=/events#${ofEvents.endpoints.join(';')}`,
      `--event-ttl=${eventTtl}`,
      '--enable-admission-plugins=EventRateLimit',
      `--admission-control-config-file=${limits}`,
    ],
  });
  cleanup.defer('cluster', () => cluster.stop());
  const { url, pid } = requireValue(cluster.pids().replicas[0]);
  const openClients = (access: Credentials, count: number): readonly Client[] => {
    const clients = Array.from({ length: count }, () => http1Client(url, access));
    for (const client of clients) cleanup.defer('client', () => client.close());
    return clients;
  };
  const clients = openClients(cluster, pacedClients);
  const admin = requireValue(clients[0]);
  for (let at = 0; at < objects; at++) await requireSuccess(admin, 'POST', configMaps, { body: configMap(`c-${at}`) });
  const flooding = openClients({ ca: cluster.ca, token: await createFloodingUser(admin) }, floodingClients);
  const transport = http2Transport(cluster);
  cleanup.defer('watches', () => transport.close());
  for (let at = 0; at < watches; at++) keepWatching();

  let { stop: stopResumed } = await resumeWatches();
  cleanup.defer('resumed watches', () => stopResumed());
  const [perSecond] = await Promise.all([
    measureSustained(clients.slice(0, busyClients)),
    flood(flooding, sustainedMs),
  ]);
  const offered = (perSecond * percent) / 100;
  console.log(`sustained in the flood: ${perSecond.toFixed(0)} operations a second; offered: ${offered.toFixed(0)}`);
  console.log(
    '| minute | a second | p50 ms | p99 ms | slowest ms | failed | events of the flood stored, refused | watches resumed after s | resident MiB, least and most | heap used, of, external MiB |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|---|');
  const least: number[] = [];
  for (let minute = 1; minute <= minutes; minute++) {
    const memory = sampleMemory(pid);
    stopResumed();
    const resumed = resumeWatches();
    const [{ latencies, failed }, flooded, { afterMs, stop }] = await Promise.all([
      offer(clients, offered, minuteMs),
      resumed.then(() => flood(flooding, floodMs)),
      resumed,
    ]);
    stopResumed = stop;
    const sampled = memory.stop();
    least.push(Math.min(...sampled));
    const sorted = latencies.toSorted((one, other) => one - other);
    const quantile = (part: number): string => (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1);
    const row = [
      minute,
      ((latencies.length * 1_000) / minuteMs).toFixed(0),
      ...[0.5, 0.99, 1].map(quantile),
      failed,
      `${flooded.stored}, ${flooded.refused}`,
      (afterMs / 1_000).toFixed(1),
      `${Math.min(...sampled).toFixed(0)}, ${Math.max(...sampled).toFixed(0)}`,
      (await readHeap(admin)).join(', '),
    ];
    console.log(`| ${row.join(' | ')} |`);
  }
  const first = least.slice(warmUpMinutes, warmUpMinutes + comparedMinutes);
  const last = least.slice(-comparedMinutes);
  console.log(`least memory: ${show(first)} after the warm-up, ${show(last)} at the end`);

  function keepWatching(): void {
    transport.open(url, `${configMaps}?watch=true&allowWatchBookmarks=true&resourceVersion=0`, {
      status: () => {},
      line: () => {},
      closed: keepWatching,
    });
  }

  /** All at once; resumed when each has its initial state. */
  async function resumeWatches(): Promise<{ readonly afterMs: number; stop(): void }> {
    const transports = Array.from({ length: resumedWatches / watchesPerConnection }, () => http2Transport(cluster));
    const startMs = clock.monotonicMs();
    const query = 'watch=true&resourceVersion=0&fieldSelector=metadata.name%3Dc-';
    const initial = Array.from(
      { length: resumedWatches },
      (_, at) =>
        new Promise<void>((resolve) => {
          const listener = { status: () => {}, line: () => resolve(), closed: resolve };
          const transport = requireValue(transports[Math.floor(at / watchesPerConnection)]);
          transport.open(url, `${configMaps}?${query}${at % objects}`, listener);
        }),
    );
    await Promise.all(initial);
    return { afterMs: clock.monotonicMs() - startMs, stop: () => transports.forEach((each) => each.close()) };
  }
} finally {
  await cleanup.close();
}
process.exit();

function show(memory: readonly number[]): string {
  return `${Math.min(...memory).toFixed(0)} to ${Math.max(...memory).toFixed(0)} MiB`;
}

function configMap(name: string): object {
  return { metadata: { name }, data: { text: 'x'.repeat(600) } };
}

function someName(): string {
  return `c-${random.below(objects)}`;
}

function get(client: Client): Promise<unknown> {
  return requireSuccess(client, 'GET', `${configMaps}/${someName()}`);
}

function list(client: Client): Promise<unknown> {
  return requireSuccess(client, 'GET', `${configMaps}?limit=100`);
}

function patch(client: Client): Promise<unknown> {
  return requireSuccess(client, 'PATCH', `${configMaps}/${someName()}`, {
    body: { metadata: { annotations: { at: `${created++}` } } },
  });
}

async function createAndDelete(client: Client): Promise<void> {
  const name = `new-${created++}`;
  await requireSuccess(client, 'POST', configMaps, { body: configMap(name) });
  await requireSuccess(client, 'DELETE', `${configMaps}/${name}`);
}

async function createEvent(client: Client): Promise<void> {
  await requireSuccess(client, 'POST', eventsOf('steady'), { body: event('steady') });
}

function eventsOf(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/events`;
}

function event(namespace: string): object {
  const involvedObject = { apiVersion: 'v1', kind: 'ConfigMap', namespace, name: someName() };
  const metadata = { name: `event-${created++}` };
  return { metadata, involvedObject, reason: 'Steady', type: 'Normal', message: 'x'.repeat(200) };
}

/** The token of a user who may do everything, but has no priority. */
async function createFloodingUser(admin: Client): Promise<string> {
  const accounts = '/api/v1/namespaces/flood/serviceaccounts';
  await requireSuccess(admin, 'POST', accounts, { body: { metadata: { name: 'flood' } } });
  const body = {
    metadata: { name: 'flood' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace: 'flood', name: 'flood' }],
  };
  await requireSuccess(admin, 'POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', { body });
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: [] } };
  const answer = await requireSuccess(admin, 'POST', `${accounts}/flood/token`, { body: request });
  return (JSON.parse(answer) as { readonly status: { readonly token: string } }).status.token;
}

/** Events as fast as they are answered. */
async function flood(
  clients: readonly Client[],
  durationMs: number,
): Promise<{ readonly stored: number; readonly refused: number }> {
  const endMs = clock.monotonicMs() + durationMs;
  const answered = { stored: 0, refused: 0 };
  await Promise.all(
    clients.map(async (client) => {
      while (clock.monotonicMs() < endMs) {
        const { status } = await client.request('POST', eventsOf('flood'), { body: event('flood') });
        answered[status === 201 ? 'stored' : 'refused']++;
      }
    }),
  );
  return answered;
}

/** Used and reserved heap, and memory outside of it, in MiB. */
async function readHeap(admin: Client): Promise<readonly string[]> {
  const { body } = await admin.request('GET', '/metrics');
  const names = ['nodejs_heap_size_used_bytes', 'nodejs_heap_size_total_bytes', 'nodejs_external_memory_bytes'];
  return names.map((name) => {
    const [, bytes] = new RegExp(`^${name} (.+)$`, 'm').exec(body) ?? [];
    return (Number(bytes) / 1_048_576).toFixed(0);
  });
}

function chooseOperation(): (client: Client) => Promise<unknown> {
  return requireValue(operations[random.below(operations.length)]);
}

/** Operations a second if each client sends the next one at once. */
async function measureSustained(clients: readonly Client[]): Promise<number> {
  const endMs = clock.monotonicMs() + sustainedMs;
  const done = await Promise.all(
    clients.map(async (client) => {
      let count = 0;
      for (; clock.monotonicMs() < endMs; count++) await chooseOperation()(client);
      return count;
    }),
  );
  return (done.reduce((sum, count) => sum + count, 0) * 1_000) / sustainedMs;
}

/** Operations at a constant rate, whether those before have ended or not. Latency counts from when one was due. */
async function offer(
  clients: readonly Client[],
  perSecond: number,
  durationMs: number,
): Promise<{ readonly latencies: readonly number[]; readonly failed: number }> {
  const idle = [...clients];
  const latencies: number[] = [];
  const running = new Set<Promise<void>>();
  const due: number[] = [];
  let failed = 0;
  const sendDue = (): void => {
    for (let client = idle.pop(); client; client = idle.pop()) {
      const dueMs = due.shift();
      if (dueMs === undefined) return void idle.push(client);
      const used = client;
      const done = chooseOperation()(used)
        .catch(() => void failed++)
        .then(() => {
          latencies.push(clock.monotonicMs() - dueMs);
          idle.push(used);
          running.delete(done);
        });
      running.add(done);
    }
  };
  const startMs = clock.monotonicMs();
  for (let sent = 0; clock.monotonicMs() - startMs < durationMs; ) {
    for (; sent < ((clock.monotonicMs() - startMs) / 1_000) * perSecond; sent++)
      due.push(startMs + (sent * 1_000) / perSecond);
    sendDue();
    await sleep(clock, paceMs);
  }
  await Promise.all(running);
  return { latencies, failed };
}

/** Resident memory, each second. */
function sampleMemory(pid: number): { stop(): readonly number[] } {
  const sampled = [readProcessState(pid)?.residentMiB ?? 0];
  const timer = setInterval(() => sampled.push(readProcessState(pid)?.residentMiB ?? 0), 1_000);
  return {
    stop: () => {
      clearInterval(timer);
      return sampled;
    },
  };
}
