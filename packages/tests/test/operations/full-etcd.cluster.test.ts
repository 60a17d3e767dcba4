import { afterAll, expect, test } from '@jest/globals';
import { CleanupStack, requireValue } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { setSpaceAlarm } from '@cluster-apiserver/testkit/etcd-gateway';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { loadReplicas } from './replica-load.ts';
import { startReplicas } from './replicas.ts';

const slowTestMs = 180_000;
const rounds = repetitions({ ci: 1, soak: 8 });
const responsesBetween = 150;

const cleanup = new CleanupStack();
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

test(
  'etcd reports that it is full, and has space again: writes fail meanwhile, everything else goes on, and no event is lost',
  async () => {
    const etcd = await startEtcd();
    cleanup.defer('etcd', () => etcd.stop());
    const member = requireValue(etcd.endpoints[0]);
    const replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}, {}] });
    cleanup.defer('replicas', () => replicas.stop());
    // The load balancer sends nothing to replicas that are not ready.
    const urls = replicas.all.flatMap(({ url }) => [url, url]);
    const load = await loadReplicas(replicas, { etcdEndpoints: etcd.endpoints, urls }, cleanup);
    for (let round = 0; round < rounds; round++) {
      await load.waitForSuccesses(responsesBetween);
      await setSpaceAlarm(member, true);
      const refused = (): number => load.history.filter(({ outcome }) => outcome.result === 'unavailable').length;
      const before = refused();
      await until('refused writes', () => refused() > before + 10 || undefined);
      await load.waitForSuccesses(responsesBetween / 10);
      await setSpaceAlarm(member, false);
      for (const replica of replicas.all)
        await until('space', async () => (await replica.metric('etcd_out_of_space')) === 0 || undefined);
    }
    await load.waitForSuccesses(responsesBetween);
    const { violations, late } = await load.judge();
    expect(violations).toEqual([]);
    expect(late).toEqual([]);
    const refusedReads = load.history.filter(
      ({ action, outcome }) => ['get', 'list'].includes(action.verb) && outcome.result === 'unavailable',
    );
    expect(refusedReads).toEqual([]);
  },
  slowTestMs,
);
