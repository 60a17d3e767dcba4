import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack, seededRandom, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { CoreV1Api, type KubernetesObject, makeInformer } from '@kubernetes/client-node';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '../fault/client.ts';
import { mixedLoad } from '../fault/mixed-load.ts';
import { waitForReplicaRestart } from '../fault/replica-restart.ts';
import { kubeConfig } from './kube-config.ts';

// The informer of the official JavaScript client: its cache and its callbacks must both converge to the server's state
// through restarts of the replicas.

const slowTestMs = 300_000;
/** The client itself waits up to half a minute between two watches without events. */
const convergenceMs = 90_000;
const loadClients = 3;
const thinkMs = 20;
/** Events between two restarts. */
const eventsBetween = 100;
/** Restart delay after an error, as in the client's documentation. */
const restartMs = 500;

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
    const config = kubeConfig({ url: cluster.pids().front.url, authority: cluster.ca, token: cluster.token });
    const core = config.makeApiClient(CoreV1Api);
    const informer = makeInformer(config, '/api/v1/serviceaccounts', () => core.listServiceAccountForAllNamespaces());
    const notified = new Map<string, string>();
    let events = 0;
    let connections = 0;
    for (const verb of ['add', 'update', 'delete'] as const)
      informer.on(verb, (object) => {
        events += 1;
        if (verb === 'delete') notified.delete(nameOf(object));
        else notified.set(nameOf(object), versionOf(object));
      });
    informer.on('connect', () => {
      connections += 1;
    });
    const stopping = new AbortController();
    informer.on('error', () => {
      void sleep(clock, restartMs).then(() => (stopping.signal.aborted ? undefined : informer.start()));
    });
    const moreEvents = (): Promise<true> => {
      const enough = events + eventsBetween;
      return until('events', () => events >= enough || undefined, convergenceMs);
    };

    const load = mixedLoad(clients, seededRandom(6), { thinkMs });
    try {
      await informer.start();
      await moreEvents();
      const before = connections;
      for (const { replica, signal } of restarts) {
        const { pid } = cluster.pids().replicas[replica] ?? { pid: 0 };
        process.kill(pid, signal);
        await waitForReplicaRestart(cluster, replica, pid);
        await moreEvents();
      }
      // Every replica was restarted more than once, so the informer reconnected.
      expect(connections).toBeGreaterThan(before + 1);
    } finally {
      await load.stop();
    }

    const served = new Map(
      (await core.listServiceAccountForAllNamespaces()).items.map((object) => [nameOf(object), versionOf(object)]),
    );
    const cachedVersions = (): Map<string, string> =>
      new Map(informer.list().map((object) => [nameOf(object), versionOf(object)]));
    // The comparison below reports the differences.
    await until('the same', () => (isSame(cachedVersions(), served) ? true : undefined), convergenceMs).catch(() => {});
    stopping.abort();
    await informer.stop();
    expect(served.size).toBeGreaterThan(0);
    expect(cachedVersions()).toEqual(served);
    expect(notified).toEqual(served);
  },
  slowTestMs,
);

const nameOf = ({ metadata }: KubernetesObject): string => `${metadata?.namespace}/${metadata?.name}`;
const versionOf = ({ metadata }: KubernetesObject): string => metadata?.resourceVersion ?? '';

const isSame = (some: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): boolean =>
  some.size === others.size && [...some].every(([name, version]) => others.get(name) === version);
