/** What replicas log above the severity I: nothing while all is well, and one line for an outage. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { http1Client } from '../fault/client.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, etcdMembers: 1 });
}, 120_000);
afterAll(() => cluster.stop());

const names = ['replica-1', 'replica-2'];
const severe = (name: string): string[] => cluster.log(name).match(/^[WE]\d.*/gm) ?? [];

async function isReady(url: string): Promise<boolean> {
  const client = http1Client(url, cluster);
  try {
    return (await client.request('GET', '/readyz')).status === 200;
  } catch {
    return false;
  } finally {
    client.close();
  }
}
const allReady = (): Promise<true> =>
  until('ready replicas', async () => {
    const ready = await Promise.all(cluster.pids().replicas.map(({ url }) => isReady(url)));
    return ready.length === names.length && ready.every(Boolean) ? true : undefined;
  });

test('a start, a rolling restart and an outage of etcd', async () => {
  await allReady();
  expect(names.flatMap(severe)).toEqual([]);

  for (const { url, pid } of cluster.pids().replicas) {
    process.kill(pid, 'SIGTERM');
    await until('another process', () =>
      cluster.pids().replicas.some((replica) => replica.url === url && replica.pid !== pid) ? true : undefined,
    );
    await allReady();
  }
  expect(names.flatMap(severe)).toEqual([]);

  const [etcd] = cluster.pids().etcd;
  if (!etcd) throw new Error('the cluster has no etcd');
  process.kill(etcd.pid, 'SIGSTOP');
  try {
    const client = http1Client(cluster.pids().front.url, cluster);
    await until('the outage', async () => {
      await client.request('GET', '/api/v1/namespaces/default').catch(() => {});
      return names.every((name) => severe(name).length > 0) ? true : undefined;
    });
    client.close();
    await until('no ready replica', async () =>
      (await Promise.all(cluster.pids().replicas.map(({ url }) => isReady(url)))).includes(true) ? undefined : true,
    );
  } finally {
    process.kill(etcd.pid, 'SIGCONT');
  }
  await allReady();
  for (const name of names) {
    expect(severe(name)).toEqual([
      expect.stringMatching(
        /^E.* etcd\] "etcd unreachable; rejecting requests until it recovers" err=".+" remedy=".+"$/,
      ),
    ]);
    expect(cluster.log(name)).toMatch(/^I.* etcd\] "etcd reachable again" lasted="\d+s"$/m);
    expect(cluster.log(name)).not.toContain('"slow request"');
  }
}, 180_000);
