import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack, seededRandom } from '@cluster-apiserver/base';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '../fault/client.ts';
import { mixedLoad } from '../fault/mixed-load.ts';
import { waitForReplicaRestart } from '../fault/replica-restart.ts';
import { startInformer } from './informer.ts';

// The informer of the official JavaScript client: its cache and its callbacks must both converge to the server's state
// through restarts of the replicas.

const slowTestMs = 300_000;
/** The client itself waits up to half a minute between two watches without events. */
const eventsMs = 90_000;
const loadClients = 3;
const thinkMs = 20;
/** Events between two restarts. */
const eventsBetween = 100;

/** Each replica in turn, with SIGTERM and with SIGKILL. */
const restarts = (['SIGTERM', 'SIGKILL'] as const).flatMap((signal) => [0, 1].map((replica) => ({ replica, signal })));

let cluster: Cluster;
let clients: readonly Client[];
const cleanup = new CleanupStack();

beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, etcdMembers: 1 });
  cleanup.defer('cluster', () => cluster.stop());
  clients = Array.from({ length: loadClients }, () => http1Client(cluster.pids().front.url, cluster));
  for (const client of clients) cleanup.defer('client', () => client.close());
}, slowTestMs);

afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

test(
  'an informer of @kubernetes/client-node converges to the server state through restarts of the replicas',
  async () => {
    const informer = startInformer({ ...cluster, url: cluster.pids().front.url });
    cleanup.defer('informer', () => informer.stop());
    const moreEvents = (): Promise<true> => {
      const enough = informer.events + eventsBetween;
      return until('events', () => informer.events >= enough || undefined, eventsMs);
    };

    const load = mixedLoad(clients, seededRandom(6), { thinkMs });
    try {
      await moreEvents();
      const before = informer.connections;
      for (const { replica, signal } of restarts) {
        const { pid } = cluster.pids().replicas[replica] ?? { pid: 0 };
        process.kill(pid, signal);
        await waitForReplicaRestart(cluster, replica, pid);
        await moreEvents();
      }
      // Every replica was restarted more than once, so the informer reconnected.
      expect(informer.connections).toBeGreaterThan(before + 1);
    } finally {
      await load.stop();
    }

    await informer.converge();
  },
  slowTestMs,
);
