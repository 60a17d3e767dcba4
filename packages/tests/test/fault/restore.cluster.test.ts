import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '../../../base/test/until.ts';
import { etcdctl, type RealEtcd, startEtcd } from '../../../storage/test/real-etcd.ts';
import { type Cluster, startCluster } from '../cluster.ts';
import { type Client, http1Client } from './client.ts';

/** Replicas have to start, and etcd to be restored. */
const slowTestMs = 120_000;

const path = '/api/v1/namespaces/default/serviceaccounts';

const restorable = etcdctl ? describe : describe.skip;
restorable(etcdctl ? 'etcd restored from a snapshot' : 'skipped: there is no etcdctl', () => {
  let etcd: RealEtcd;
  let cluster: Cluster;
  let replicas: readonly { readonly name: string; readonly client: Client; readonly watcher: Client }[];

  beforeAll(async () => {
    etcd = await startEtcd();
    cluster = await startCluster({ replicas: 2, etcdMembers: etcd.endpoints });
    replicas = cluster.pids().replicas.map(({ url }, at) => ({
      name: `replica-${at + 1}`,
      client: http1Client(url, cluster),
      watcher: http1Client(url, cluster),
    }));
  }, slowTestMs);
  afterAll(async () => {
    for (const { client, watcher } of replicas) for (const one of [client, watcher]) one.close();
    await cluster.stop();
    await etcd.stop();
  }, slowTestMs);

  const first = (): Client => (replicas[0] as (typeof replicas)[number]).client;
  const make = async (name: string): Promise<number> => {
    const body = { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name } };
    const { status, body: answer } = await first().request('POST', path, { body });
    expect(status).toBe(201);
    return Number(JSON.parse(answer).metadata.resourceVersion);
  };

  test.each([
    // A value that has changed may be seen before a revision that has gone back.
    { how: 'as the same cluster', token: undefined, label: 'revision', reasons: 'revision|content' },
    { how: 'as another cluster', token: 'another', label: 'cluster-id', reasons: 'cluster id' },
  ])(
    '$how, under open watches: they end as expired, nobody gets the old state, and it is counted and told',
    async ({ token, label, reasons }) => {
      await make(`kept-${label}`);
      const snapshot = etcd.snapshot(`backup-${label}`);
      const lost = await make(`lost-${label}`);
      const watches = replicas.map(({ watcher }) => watcher.request('GET', `${path}?watch=1&resourceVersion=${lost}`));
      // Each has seen what will be lost.
      for (const { client } of replicas)
        expect((await client.request('GET', `${path}/lost-${label}`)).status).toBe(200);
      await etcd.restore(snapshot, token);
      for (const watch of watches) {
        const { body } = await watch;
        const last = JSON.parse(body.trim().split('\n').at(-1) ?? '');
        expect(last).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
      }
      for (const { name, client } of replicas) {
        const present = await until('reads of the restored state', async () => {
          const answer = await client.request('GET', `${path}/kept-${label}`);
          if (answer.status === 503) return undefined;
          return answer.status;
        });
        expect(present).toBe(200);
        for (const query of ['', '?resourceVersion=0'])
          expect((await client.request('GET', `${path}/lost-${label}${query}`)).status).toBe(404);
        const { body } = await client.request('GET', '/metrics');
        expect(body).toMatch(new RegExp(`etcd_history_replaced_total\\{reason="(?:${reasons})"\\} 1`));
        expect(cluster.log(name)).toContain('etcd was restored, rebuilt or swapped');
        expect((await client.request('GET', '/readyz?verbose')).body).toContain('[+]etcd-history ok');
      }
      await make(`lost-${label}`);
    },
    slowTestMs,
  );
});
