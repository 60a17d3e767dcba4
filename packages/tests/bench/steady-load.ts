/**
 * Measures memory and latency of a replica that has 80 % of the load which it sustains, for half an hour: gets, lists,
 * patches, creations and deletions of ConfigMaps, events with an etcd of their own, and watches of all changes.
 *
 *   ETCD_BIN=ETCD node --conditions=source packages/tests/bench/steady-load.ts [minutes, 30] [percent of the sustained load, 80]
 *
 * Replica, etcds and clients share the cores. Each minute is a row of a table.
 */
import { CleanupStack, requireValue, seededRandom, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { startCluster } from '@cluster-apiserver/testkit/cluster';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type Client, http1Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';
import { readProcessState } from '../test/hostile/server-process.ts';
import { http2Transport } from '../test/watch/open-watch.ts';

const [minutes = 30, percent = 80] = process.argv.slice(2).map(Number);
const objects = 1_000;
const watches = 20;
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
const events = '/api/v1/namespaces/steady/events';

/** Each is sent as often as it is in this list. */
const operations = [get, get, get, get, get, get, list, patch, patch, createAndDelete, createAndDeleteEvent];

const random = seededRandom(1);
const cleanup = new CleanupStack();
let created = 0;

try {
  const ofEvents = await startEtcd();
  cleanup.defer('etcd of events', () => ofEvents.stop());
  const cluster = await startCluster({
    replicas: 1,
    etcdMembers: 1,
    replicaFlags: [`--etcd-servers-overrides=/events#${ofEvents.endpoints.join(';')}`],
  });
  cleanup.defer('cluster', () => cluster.stop());
  const { url, pid } = requireValue(cluster.pids().replicas[0]);
  const clients = Array.from({ length: pacedClients }, () => http1Client(url, cluster));
  for (const client of clients) cleanup.defer('client', () => client.close());
  for (let at = 0; at < objects; at++)
    await requireSuccess(requireValue(clients[0]), 'POST', configMaps, { body: configMap(`c-${at}`) });
  const transport = http2Transport(cluster);
  cleanup.defer('watches', () => transport.close());
  for (let at = 0; at < watches; at++) keepWatching();

  const perSecond = await measureSustained(clients.slice(0, busyClients));
  const offered = (perSecond * percent) / 100;
  console.log(`sustained: ${perSecond.toFixed(0)} operations a second; offered: ${offered.toFixed(0)}`);
  console.log('| minute | a second | p50 ms | p99 ms | slowest ms | failed | resident MiB, least and most |');
  console.log('|---|---|---|---|---|---|---|');
  const least: number[] = [];
  for (let minute = 1; minute <= minutes; minute++) {
    const memory = sampleMemory(pid);
    const { latencies, failed } = await offer(clients, offered, minuteMs);
    const sampled = memory.stop();
    least.push(Math.min(...sampled));
    const sorted = latencies.toSorted((one, other) => one - other);
    const quantile = (part: number): string => (sorted[Math.floor(part * (sorted.length - 1))] ?? 0).toFixed(1);
    console.log(
      `| ${minute} | ${((latencies.length * 1_000) / minuteMs).toFixed(0)} | ${quantile(0.5)} | ${quantile(0.99)} | ${quantile(1)} | ${failed} | ${Math.min(...sampled).toFixed(0)}, ${Math.max(...sampled).toFixed(0)} |`,
    );
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

async function createAndDeleteEvent(client: Client): Promise<void> {
  const name = `event-${created++}`;
  const involvedObject = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'steady', name: someName() };
  const body = { metadata: { name }, involvedObject, reason: 'Steady', type: 'Normal', message: 'x'.repeat(200) };
  await requireSuccess(client, 'POST', events, { body });
  await requireSuccess(client, 'DELETE', `${events}/${name}`);
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
