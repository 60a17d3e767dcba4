/**
 * Measures how many updates a second one, two and three etcds take, with three kinds that are spread over them: Leases,
 * ConfigMaps and ServiceAccounts. Replicas, etcds and writers share the cores.
 *
 *   node --conditions=source packages/tests/bench/etcd-servers.ts [replicas, 1 by default] [seconds, 10] [writers, 48]
 */
import { CleanupStack, systemClock as clock } from '@cluster-apiserver/base';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type Client, http1Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';

const [replicas = 1, seconds = 10, writers = 48] = process.argv.slice(2).map(Number);
/** A quiet etcd behind it is warm, and so is the code. */
const warmUpSeconds = 2;

const kinds = [
  {
    resource: 'coordination.k8s.io/leases',
    path: '/apis/coordination.k8s.io/v1/namespaces/bench/leases',
    kind: 'Lease',
  },
  { resource: '/configmaps', path: '/api/v1/namespaces/bench/configmaps', kind: 'ConfigMap' },
  { resource: '/serviceaccounts', path: '/api/v1/namespaces/bench/serviceaccounts', kind: 'ServiceAccount' },
];

for (const etcds of [1, 2, 3]) {
  const cleanup = new CleanupStack();
  try {
    const opened = await Promise.all(Array.from({ length: etcds }, () => startEtcd({ encrypted: true })));
    for (const etcd of opened) cleanup.defer('etcd', () => etcd.stop());
    const urls = opened.map(({ endpoints }) => endpoints);
    const overrides = kinds.flatMap(({ resource }, index) => {
      const of = urls[index % etcds] ?? [];
      return of === urls[0] ? [] : `${resource}#${of.join(';')}`;
    });
    const replicaFlags = overrides.length === 0 ? [] : [`--etcd-servers-overrides=${overrides.join()}`];
    const cluster = await startCluster({ replicas, etcdMembers: urls[0] ?? [], replicaFlags });
    cleanup.defer('cluster', () => cluster.stop());
    const clients = await openClients(cluster);
    cleanup.defer('clients', () => clients.forEach(({ client }) => client.close()));
    await updateFor(clients, warmUpSeconds);
    const rate = await updateFor(clients, seconds);
    console.log(`etcds ${etcds}, replicas ${replicas}: ${rate.toFixed(0)} updates a second`);
  } finally {
    await cleanup.close();
  }
}

interface Writer {
  readonly client: Client;
  readonly path: string;
}

/** Each with an object of its own. */
function openClients(cluster: Cluster): Promise<readonly Writer[]> {
  const { replicas: running } = cluster.pids();
  return Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const { path, kind } = kinds[writer % kinds.length] as (typeof kinds)[number];
      const client = http1Client(running[writer % running.length]?.url ?? '', cluster);
      const name = `writer-${writer}`;
      const apiVersion = kind === 'Lease' ? 'coordination.k8s.io/v1' : 'v1';
      await requireSuccess(client, 'POST', path, { body: { apiVersion, kind, metadata: { name } } });
      return { client, path: `${path}/${name}` };
    }),
  );
}

/** Updates in a second. */
async function updateFor(clients: readonly Writer[], duration: number): Promise<number> {
  const startMs = clock.monotonicMs();
  const endMs = startMs + duration * 1_000;
  let updates = 0;
  await Promise.all(
    clients.map(async ({ client, path }) => {
      for (let n = 0; clock.monotonicMs() < endMs; n++) {
        const body = { metadata: { annotations: { renewed: `${startMs} ${n}` } } };
        await requireSuccess(client, 'PATCH', path, { body });
        updates++;
      }
    }),
  );
  return updates / ((clock.monotonicMs() - startMs) / 1_000);
}
