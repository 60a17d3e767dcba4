/**
 * Measures how many ConfigMaps 50 writers create in a second, in namespaces with and without a quota, at one replica and at
 * three. The replicas, etcd and the writers share the cores.
 *
 *   node --conditions=source packages/tests/bench/quota-creations.ts [seconds of each load, 2 by default]
 */
import { systemClock as clock } from '@cluster-apiserver/base';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { http1Client, requireSuccess } from '@cluster-apiserver/testkit/api-client';

const [seconds = 2] = process.argv.slice(2).map(Number);
const writers = 50;
const rounds = 5;
const hard = { 'count/configmaps': '1M' };

for (const replicas of [1, 3]) {
  const cluster = await startCluster({ replicas, etcdMembers: 1 });
  try {
    await limit(cluster, 'limited');
    const rates = { free: [] as number[], limited: [] as number[] };
    for (let round = 0; round < rounds; round++)
      for (const namespace of ['free', 'limited'] as const)
        rates[namespace].push(await load(cluster, namespace, round));
    const [free, limited] = [rates.free, rates.limited].map(medianAndRange);
    console.log(`replicas ${replicas}: ${free} creations a second without a quota, ${limited} with one`);
  } finally {
    await cluster.stop();
  }
}

async function limit(cluster: Cluster, namespace: string): Promise<void> {
  const client = http1Client(cluster.pids().front.url, cluster);
  const quotas = `/api/v1/namespaces/${namespace}/resourcequotas`;
  const body = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard } };
  await client.request('POST', quotas, { body });
  await until('the quota to be in force', async () => {
    const answer = await client.request('GET', `${quotas}/q`);
    return answer.body.includes('"used"') || undefined;
  });
  client.close();
}

/** Creations in a second. */
async function load(cluster: Cluster, namespace: string, round: number): Promise<number> {
  const { replicas } = cluster.pids();
  const startMs = clock.monotonicMs();
  const endMs = startMs + seconds * 1_000;
  let created = 0;
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const client = http1Client(replicas[writer % replicas.length]?.url ?? '', cluster);
      for (let n = 0; clock.monotonicMs() < endMs; n++) {
        const metadata = { name: `c-${round}-${writer}-${n}` };
        const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text: 'x'.repeat(600) } };
        await requireSuccess(client, 'POST', `/api/v1/namespaces/${namespace}/configmaps`, { body });
        created++;
      }
      client.close();
    }),
  );
  return created / ((clock.monotonicMs() - startMs) / 1_000);
}

function medianAndRange(rates: readonly number[]): string {
  const [least = 0, median = 0, most = 0] = [0, 0.5, 1].map(
    (part) => rates.toSorted((one, other) => one - other)[Math.floor(part * (rates.length - 1))],
  );
  return `${median.toFixed(0)} (${least.toFixed(0)} to ${most.toFixed(0)})`;
}
