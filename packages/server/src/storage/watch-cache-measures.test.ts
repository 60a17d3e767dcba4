import { expect, test } from '@jest/globals';
import { callUntil, seededRandom, systemClock as clock } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { openRegistry, type Resource, StoredKinds } from '@cluster-apiserver/registry';
import { type EtcdClient, RevisionTooLargeError, revision } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { publishWatchCaches, createReadMeasures } from './watch-cache-measures.ts';
import { exposed } from '@cluster-apiserver/testkit/exposition';

const call = callUntil(Number.POSITIVE_INFINITY);

test.each([
  { currentRevision: 5, known: 9, lag: 4 },
  { currentRevision: 9, known: 9, lag: 0 },
  // The watch may tell of a revision before any answer does.
  { currentRevision: 10, known: 9, lag: 0 },
])('at $currentRevision of $known revisions the lag is $lag', async ({ currentRevision, known, lag }) => {
  const metrics = createMetrics({ ofProcess: false });
  const client = { history: { revision: known } } as EtcdClient; // nothing else of it is read
  const cache = { currentRevision: revision(currentRevision), progressAgeMs: 2_500, waitingReads: 3 };
  publishWatchCaches(metrics, { stored: [] } as never, [{ id: 'etcd-0', client, cache }]);
  const lines = (await exposed(metrics)).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      `apiserver_watch_cache_revision_lag{storage_cluster_id="etcd-0"} ${lag}`,
      'apiserver_watch_cache_progress_age_seconds{storage_cluster_id="etcd-0"} 2.5',
      'apiserver_watch_cache_waiting_reads{storage_cluster_id="etcd-0"} 3',
    ]),
  );
});

test('consistent reads are counted; reads at a revision only count as waits', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const store = memoryStore(clock);
  const { api, cache } = openRegistry({
    kinds: kinds({ eventLifetimeSeconds: 60 }),
    store,
    storedKinds: new StoredKinds('/registry'),
    clock,
    random: seededRandom(1),
    report: () => {},
    readMeasures: createReadMeasures(metrics),
  });
  await cache.firstLoad;
  const { collection } = api.stored.find(({ kind }) => kind.plural === 'serviceaccounts') as Resource; // it is served
  for (let reads = 0; reads < 2; reads++) await collection.waitUntilFresh(undefined, call);
  await expect(collection.waitUntilFresh(revision(cache.currentRevision + 1), call)).rejects.toThrow(
    RevisionTooLargeError,
  );
  const lines = (await exposed(metrics)).split('\n');
  const of = 'group="",resource="serviceaccounts"';
  expect(lines).toEqual(
    expect.arrayContaining([
      `apiserver_watch_cache_consistent_read_total{${of},success="true",fallback="false"} 2`,
      `apiserver_watch_cache_read_wait_seconds_count{${of}} 3`,
    ]),
  );
  await cache.close();
  store.close();
});
