import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { canBumpRevision, etcdctl, type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { checkHistory } from './check-history.ts';
import { withoutTwins } from './twins.ts';
import { readLog } from './etcd-log.ts';
import { type MixedLoad, mixedLoad } from './mixed-load.ts';
import { requireResponses } from './response-times.ts';
import { describeIf } from '../describe-if.ts';

/** Time to start replicas and to restore etcd. */
const slowTestMs = 120_000;

const responsesBetween = 300;
const recoveryMs = 60_000;

const path = '/api/v1/namespaces/default/serviceaccounts';

interface Restore {
  readonly how: string;
  readonly token?: string;
  readonly bumpRevision?: boolean;
  readonly label: string;
  /** By what it may be noticed first. */
  readonly reasons: string;
}

const restores: readonly Restore[] = [
  { how: 'as the same cluster', label: 'revision', reasons: 'revision|content' },
  { how: 'as another cluster', token: 'another', label: 'cluster-id', reasons: 'cluster id' },
  { how: 'as of a much later revision', bumpRevision: true, label: 'bumped', reasons: 'compacted' },
];

/** How often one of these reasons reported a replaced etcd history. */
async function countReplacements(client: Client, reasons: string): Promise<number> {
  const { body } = await client.request('GET', '/metrics');
  const series = new RegExp(
    `^etcd_history_replaced_total\\{storage_cluster_id="etcd-0",reason="(?:${reasons})"\\} (\\d+)$`,
    'gm',
  );
  return body.matchAll(series).reduce((sum, [, count]) => sum + Number(count), 0);
}

describeIf(etcdctl !== undefined, 'etcd restored from a snapshot', 'there is no etcdctl', () => {
  let etcd: RealEtcd;
  let cluster: Cluster;
  let replicas: readonly { readonly name: string; readonly client: Client; readonly watcher: Client }[];

  // Each test restores the etcd of a cluster of its own, whose log contains only its requests.
  beforeEach(async () => {
    etcd = await startEtcd();
    cluster = await startCluster({
      replicas: 2,
      etcdMembers: etcd.endpoints,
      replicaFlags: ['--etcd-compaction-interval=0'],
    });
    replicas = cluster.pids().replicas.map(({ url }, at) => ({
      name: `replica-${at + 1}`,
      client: http1Client(url, cluster),
      watcher: http1Client(url, cluster),
    }));
  }, slowTestMs);
  afterEach(async () => {
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

  test(
    'under load: later responses show the restored state, as if nothing had been written since the snapshot',
    async () => {
      const clients = replicas.flatMap(({ client, watcher }) => [client, watcher]);
      const loadCalled = (called: string, seed: number): MixedLoad =>
        mixedLoad(clients, seededRandom(seed), { idPrefix: called });
      const successes = async ({ history }: MixedLoad, count: number): Promise<void> => {
        const enough = (): boolean => history.filter(({ outcome }) => outcome.result !== 'unavailable').length >= count;
        await until(`${count} successes`, () => enough() || undefined, recoveryMs);
      };
      const before = loadCalled('before', 1);
      await successes(before, responsesBetween);
      await before.stop();
      const snapshot = etcd.snapshot('backup-under-load');
      const lost = loadCalled('lost', 2);
      await successes(lost, responsesBetween);
      await lost.stop();
      for (const member of etcd.members) await member.signal('SIGKILL');
      const after = loadCalled('after', 3);
      await etcd.restore(snapshot);
      await successes(after, responsesBetween);
      await after.stop();
      const log = await readLog(etcd.endpoints[0] as string, cluster);
      expect(checkHistory(withoutTwins([...before.history, ...after.history]), log)).toEqual([]);
      // Clients have seen writes after the snapshot, so their survival would be noticed.
      expect(lost.history.some(({ outcome }) => outcome.result === 'written')).toBe(true);
      requireResponses(after.history);
    },
    slowTestMs,
  );

  for (const { how, token, bumpRevision, label, reasons } of restores) {
    const isPossible = !bumpRevision || canBumpRevision;
    describeIf(isPossible, `${how}, with open watches`, 'etcdctl is too old', () => {
      test(
        'they end as expired, no client reads the old state, and it is counted and logged',
        async () => {
          const kept = await make(`kept-${label}`);
          const snapshot = etcd.snapshot(`backup-${label}`);
          const lost = await make(`lost-${label}`);
          const watches = replicas.map(({ watcher }) =>
            watcher.request('GET', `${path}?watch=1&resourceVersion=${lost}`, { quietMs: recoveryMs }),
          );
          // Each replica has seen a write that will be lost.
          for (const { client } of replicas)
            expect((await client.request('GET', `${path}/lost-${label}`)).status).toBe(200);
          const countedBefore = await Promise.all(replicas.map(({ client }) => countReplacements(client, reasons)));
          await etcd.restore(snapshot, { token, bumpRevision });
          for (const watch of watches) {
            const { body } = await watch;
            const last = JSON.parse(body.trim().split('\n').at(-1) ?? '');
            expect(last).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
          }
          for (const [at, { name, client }] of replicas.entries()) {
            const present = await until('reads of the restored state', async () => {
              const answer = await client.request('GET', `${path}/kept-${label}`);
              if (answer.status === 503) return undefined;
              return answer.status;
            });
            expect(present).toBe(200);
            for (const query of ['', '?resourceVersion=0'])
              expect((await client.request('GET', `${path}/lost-${label}${query}`)).status).toBe(404);
            // Without a bump, the restored etcd may have got to the same version since.
            for (const version of bumpRevision ? [kept - 1, lost] : [kept - 1]) {
              const query = `?watch=1&resourceVersion=${version}&timeoutSeconds=5`;
              const { body } = await client.request('GET', `${path}${query}`);
              expect(JSON.parse(body)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
            }
            expect(await countReplacements(client, reasons)).toBe((countedBefore[at] ?? 0) + 1);
            expect(cluster.log(name)).toMatch(
              /etcd was restored, rebuilt or swapped|etcd has compacted all known revisions/,
            );
            expect((await client.request('GET', '/readyz?verbose')).body).toContain('[+]etcd-history ok');
          }
          await make(`lost-${label}`);
        },
        slowTestMs,
      );
    });
  }
});
