import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack, seededRandom } from '@cluster-apiserver/base';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { mixedLoad } from '../fault/mixed-load.ts';
import { waitForReplicaRestart } from '../fault/replica-restart.ts';
import { configMaps, startInformer, widgets } from './informer.ts';
import { widgetDefinition, widgetGroup } from './widgets.ts';

// Informers of the official JavaScript client: their caches and callbacks must both converge to the server's state through
// restarts of the replicas.

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
  'informers of @kubernetes/client-node, one of a custom kind, converge to the server state through restarts of the replicas',
  async () => {
    const informer = startInformer({ ...cluster, url: cluster.pids().front.url });
    cleanup.defer('informer', () => informer.stop());
    await define(clients[0]);
    const others = [configMaps, widgets].map((kind) =>
      startInformer({ ...cluster, url: cluster.pids().front.url }, kind),
    );
    for (const other of others) cleanup.defer('informer', () => other.stop());
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
        await writeOthers(clients[0], `before-${replica}-${signal.toLowerCase()}`);
        process.kill(pid, signal);
        await waitForReplicaRestart(cluster, replica, pid);
        await writeOthers(clients[0], `after-${replica}-${signal.toLowerCase()}`);
        await moreEvents();
      }
      // Every replica was restarted more than once, so the informer reconnected.
      expect(informer.connections).toBeGreaterThan(before + 1);
    } finally {
      await load.stop();
    }

    for (const one of [informer, ...others]) await one.converge();
  },
  slowTestMs,
);

async function define(client: Client | undefined): Promise<void> {
  await write(client, 'POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetDefinition);
  await until('the custom kind', async () => (await client?.request('GET', widgets.path))?.status === 200 || undefined);
}

/** Of each kind, an object that stays, one that is changed, and one that is deleted. */
async function writeOthers(client: Client | undefined, prefix: string): Promise<void> {
  for (const [collection, body] of [
    ['/api/v1/namespaces/informed/configmaps', { data: { a: '1' } }],
    [
      `/apis/${widgetGroup}/v1/namespaces/informed/widgets`,
      { apiVersion: `${widgetGroup}/v1`, kind: 'Widget', spec: { size: 1 } },
    ],
  ] as const) {
    for (const use of ['kept', 'changed', 'deleted'])
      await write(client, 'POST', collection, { ...body, metadata: { name: `${prefix}-${use}` } });
    await write(client, 'PATCH', `${collection}/${prefix}-changed`, { metadata: { labels: { changed: 'true' } } });
    await write(client, 'DELETE', `${collection}/${prefix}-deleted`);
  }
}

/** Again while no response arrives, as a replica may just end: all of these writes may be done twice. */
async function write(client: Client | undefined, method: string, path: string, body?: object): Promise<void> {
  const { status, body: answer } = await until(`${method} ${path}`, () =>
    client?.request(method, path, body && { body }).catch(() => undefined),
  );
  const isAgain = (method === 'POST' && status === 409) || (method === 'DELETE' && status === 404);
  if (!isAgain && status >= 300) throw new Error(`${method} ${path}: ${status} ${answer}`);
}
