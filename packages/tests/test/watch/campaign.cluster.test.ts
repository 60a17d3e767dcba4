import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Random, CleanupStack, requireValue, systemClock as clock } from '@cluster-apiserver/base';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startProxy, type TcpProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { waitForReplicaRestart } from '../fault/replica-restart.ts';
import type { Compactor } from './compactor.ts';
import { defineToolboxes, serviceAccounts, toolboxes } from '../fault/judged-resources.ts';
import { startJudgedLoad } from './judged-load.ts';
import { http1Transport, http2Transport } from '@cluster-apiserver/testkit/open-watch';
import type { Recorder } from './recorder.ts';
import { startWatcher, type Watcher } from './watcher.ts';
import { type WatcherKind, watcherKinds } from './watcher-kinds.ts';

const slowTestMs = 600_000;
const seed = 5;

const deliveredEventsMin = repetitions({ ci: 30_000, soak: 1_000_000 });
const compactionIntervalMs = 200;
/** At least the number of replicas: a replica that was never killed still has the whole history. */
const rounds = repetitions({ ci: 3, soak: 6 });
/** Responses, and events to each watcher of everything, between two faults. */
const responsesBetween = repetitions({ ci: 90, soak: 150 });
/** Much longer than an election or the start of a member or a replica on a busy machine. */
const recoveryMs = 60_000;
/** A soak delivers a million events, which takes minutes. */
const campaignMs = 400_000;

const clientsEach = 2;

let etcd: RealEtcd;
let lines: readonly TcpProxy[];
let cluster: Cluster;
let clientLines: readonly TcpProxy[];
let replicaClients: readonly Client[];
let clients: readonly Client[];
const cleanup = new CleanupStack();

beforeAll(async () => {
  etcd = await startEtcd({ members: 3 });
  cleanup.defer('etcd', () => etcd.stop());
  lines = await Promise.all(etcd.endpoints.map(startProxy));
  cluster = await startCluster({
    replicas: 3,
    etcdMembers: lines.map(({ endpoint }) => endpoint),
    replicaFlags: ['--etcd-compaction-interval=0'],
  });
  cleanup.defer('cluster', () => cluster.stop());
  const { front, replicas } = cluster.pids();
  clientLines = await Promise.all(replicas.map(({ url }) => startProxy(url)));
  for (const line of [...lines, ...clientLines]) cleanup.defer('line', () => line.close());
  replicaClients = replicas.map(({ url }) => http1Client(url, cluster));
  clients = [front, ...replicas].flatMap(({ url }) =>
    Array.from({ length: clientsEach }, () => http1Client(url, cluster)),
  );
  for (const client of [...replicaClients, ...clients]) cleanup.defer('client', () => client.close());
}, slowTestMs);

afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

test(
  'through faults and compactions, watchers receive every event once, in order and with the right content, and lists are never outdated',
  async () => {
    await defineToolboxes(requireValue(replicaClients[0]));
    const load = await startJudgedLoad({
      etcdEndpoints: etcd.endpoints,
      encryption: cluster.encryption,
      clients,
      seed,
      resources: [serviceAccounts, toolboxes],
      compactionIntervalMs,
      watchers: startWatchers,
    });
    cleanup.defer('load', () => load.stop());
    const { watchers, history } = load;
    const compactor = requireValue(load.compactor);
    const beganMs = clock.monotonicMs();
    for (let round = 0; round < rounds; round += 1) {
      for (const fault of [cutFromEtcd, cutFromClients, killReplica, killLeader]) {
        await load.waitForResponses(responsesBetween);
        await fault(round);
      }
      await waitForCompaction(compactor);
    }
    await until('enough events', () => load.deliveredEvents >= deliveredEventsMin || undefined, campaignMs);
    const { violations, late, writes } = await load.judge();
    const endings = Map.groupBy(
      watchers.flatMap(({ stream }) => stream.segments),
      ({ ending }) => ending.how,
    );
    const outcomes = Map.groupBy(history, ({ outcome }) => outcome.result);
    console.log(
      [
        `seed ${seed}: ${load.deliveredEvents} events to ${watchers.length} watchers in ${((clock.monotonicMs() - beganMs) / 1000).toFixed(0)} s`,
        `${writes} writes, ${history.length} requests, ${compactor.done} compactions`,
        `watches by ending: ${counts(endings)}; requests by outcome: ${counts(outcomes)}`,
        `${violations.length} violations`,
        ...violations.slice(0, 20),
      ].join('\n'),
    );
    expect({ seed, violations: violations.slice(0, 20) }).toEqual({ seed, violations: [] });
    expect(late).toEqual([]);
    expect(load.deliveredEvents).toBeGreaterThanOrEqual(deliveredEventsMin);
    // Clients with an old revision notice the compaction.
    for (const client of replicaClients) {
      const { body } = await client.request(
        'GET',
        '/api/v1/serviceaccounts?watch=true&timeoutSeconds=30&resourceVersion=2',
      );
      expect(JSON.parse(body)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    }
    expect(compactor.done).toBeGreaterThan(rounds);
  },
  slowTestMs,
);

function startWatchers(random: Random, recorder: Recorder): readonly Watcher[] {
  const wires = { 'HTTP/1.1': http1Transport(cluster), 'HTTP/2': http2Transport(cluster) };
  for (const wire of Object.values(wires)) cleanup.defer('wire', () => wire.close());
  const { front, replicas } = cluster.pids();
  const urls = {
    replicas: replicas.map(({ url }) => url),
    'the front': [front.url],
    'cut connections': clientLines.map(({ endpoint }) => endpoint.replace('http:', 'https:')),
  };
  const start = (kind: WatcherKind, at: number): Watcher =>
    startWatcher(`${kind.what} ${at}`, kind, {
      random,
      wire: wires[kind.protocol],
      client: () => pick(random, replicaClients),
      url: () => pick(random, urls[kind.through]),
      latestRevision: () => recorder.revision,
    });
  return watcherKinds.flatMap((kind) => Array.from({ length: kind.count }, (_, at) => start(kind, at)));
}

// Each fault waits until its effect is visible.

const cutFromEtcd = (): Promise<void> => cutConnections(lines);
const cutFromClients = (): Promise<void> => cutConnections(clientLines);

async function cutConnections(lines: readonly TcpProxy[]): Promise<void> {
  const accepted = (): number => lines.reduce((sum, line) => sum + line.accepted, 0);
  const before = accepted();
  for (const line of lines) line.cut();
  await until('a client to reconnect', () => accepted() > before || undefined, recoveryMs);
}

async function killReplica(round: number): Promise<void> {
  const at = round % cluster.pids().replicas.length;
  const { pid } = cluster.pids().replicas[at] ?? { pid: 0 };
  process.kill(pid, 'SIGKILL');
  await waitForReplicaRestart(cluster, at, pid);
}

async function killLeader(): Promise<void> {
  const leader = await etcd.leader();
  await leader.signal('SIGKILL');
  await until('another leader', async () => (await etcd.leader()) !== leader || undefined, recoveryMs);
  await leader.start();
}

/** Waits for one or two compactions. */
async function waitForCompaction(compactor: Compactor): Promise<void> {
  const enough = compactor.done + 2;
  await until('compactions', () => compactor.done >= enough || undefined, recoveryMs);
}

const counts = (groups: ReadonlyMap<string, readonly unknown[]>): string =>
  [...groups].map(([name, all]) => `${name} ${all.length}`).join(', ');

const pick = <T>(random: Random, some: readonly T[]): T => some[random.below(some.length)] as T; // never empty
