import { afterAll, expect, test } from '@jest/globals';
import { CleanupStack, requireValue, systemClock as clock } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { startProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { until } from '@cluster-apiserver/testkit/until';
import { startInformer } from '../clients/informer.ts';
import type { Compaction } from '../fault/history.ts';
import { loadReplicas } from './replica-load.ts';
import { type Replica, startReplicas } from './replicas.ts';

const slowTestMs = 240_000;
const rounds = repetitions({ ci: 1, soak: 6 });
const responsesBetween = 150;
const compactionIntervalMs = 200;
const recoveryMs = 60_000;

const none: readonly Compaction[] = [];

const cleanup = new CleanupStack();
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

test(
  'a replica that was cut off from etcd over a compaction ends old watches with 410, and all clients converge',
  async () => {
    const etcd = await startEtcd();
    cleanup.defer('etcd', () => etcd.stop());
    const line = await startProxy(requireValue(etcd.endpoints[0]));
    cleanup.defer('line', () => line.close());
    const replicas = await startReplicas({
      etcdEndpoints: etcd.endpoints,
      replicas: [{}, {}, { etcdEndpoints: [line.endpoint] }],
    });
    cleanup.defer('replicas', () => replicas.stop());
    const [, , cut] = replicas.all as [Replica, Replica, Replica];
    const others = replicas.all.slice(0, -1).map(({ url }) => url);
    const load = await loadReplicas(
      replicas,
      { etcdEndpoints: etcd.endpoints, compactionIntervalMs, urls: [...others, ...others, cut.url, replicas.front] },
      cleanup,
    );
    const informers = [cut.url, replicas.front].map((url) => startInformer({ ...replicas, url }));
    for (const informer of informers) cleanup.defer('informer', () => informer.stop());
    const losses: Compaction[] = [];
    for (let round = 0; round < rounds; round++) {
      await load.waitForSuccesses(responsesBetween);
      const rebuilt = await cut.metric('apiserver_watch_cache_initializations_total');
      line.silent = true;
      const compactor = requireValue(load.compactor);
      const enough = compactor.done + 3;
      await load.waitForSuccesses(responsesBetween);
      await until('compactions', () => compactor.done >= enough || undefined);
      const requestedMs = clock.monotonicMs();
      line.silent = false;
      line.cut();
      await until(
        'a rebuilt watch cache',
        async () => {
          return (await cut.metric('apiserver_watch_cache_initializations_total')) > rebuilt || undefined;
        },
        recoveryMs,
      );
      // It knows nothing from before it read everything again, and cannot tell a compaction from a restored etcd.
      losses.push({ revision: load.recorder.revision, requestedMs });
      await load.waitForSuccesses(responsesBetween);
    }
    const { violations, late } = await load.judge((watcher) =>
      [cut.url, replicas.front].some((url) => watcher.endsWith(url)) ? losses : none,
    );
    expect(violations).toEqual([]);
    expect(late).toEqual([]);
    for (const informer of informers) await informer.converge();
  },
  slowTestMs,
);
