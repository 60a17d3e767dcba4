import { expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { defineKind } from '@cluster-apiserver/model/kind';
import { StoredKinds } from '@cluster-apiserver/registry';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { createEtcdMeasures, type StorageMeasures } from './etcd-measures.ts';
import { exposed } from '@cluster-apiserver/testkit/exposition';

test.each<{ readonly act: (measures: StorageMeasures) => void; readonly series: string }>([
  {
    act: ({ operationEnded }) => operationEnded('get', '/registry/events/n/a', 0.01, false),
    series: 'etcd_requests_total{operation="get",group="",resource="events"} 1',
  },
  {
    act: ({ operationEnded }) => operationEnded('list', '/registry/events/n/a', 0.01, false),
    series: 'etcd_request_duration_seconds_count{operation="list",group="",resource="events"} 1',
  },
  {
    act: ({ operationEnded }) => operationEnded('create', '/registry/events/n/a', 0.01, true),
    series: 'etcd_request_errors_total{operation="create",group="",resource="events"} 1',
  },
  {
    act: ({ attemptEnded }) => attemptEnded('lost'),
    series: 'etcd_client_attempts_total{storage_cluster_id="etcd-0",outcome="lost"} 1',
  },
  {
    act: ({ attemptMaybeApplied }) => attemptMaybeApplied(),
    series: 'etcd_client_write_attempts_unknown_outcome_total{storage_cluster_id="etcd-0"} 1',
  },
  {
    act: ({ writeOutcomeUnknown }) => writeOutcomeUnknown(),
    series: 'etcd_client_writes_unknown_outcome_total{storage_cluster_id="etcd-0"} 1',
  },
  { act: ({ attemptFenced }) => attemptFenced(), series: 'etcd_client_fences_total{storage_cluster_id="etcd-0"} 1' },
  {
    act: ({ connectionVerified }) => connectionVerified(),
    series: 'etcd_client_connections_total{storage_cluster_id="etcd-0"} 1',
  },
  {
    act: ({ refusedForSpace }) => refusedForSpace(),
    series: 'etcd_client_writes_out_of_space_total{storage_cluster_id="etcd-0"} 1',
  },
  {
    act: ({ watchEnded }) => watchEnded('refusal'),
    series: 'etcd_client_watch_interruptions_total{storage_cluster_id="etcd-0",cause="refusal"} 1',
  },
  {
    act: ({ historyReplaced }) => historyReplaced('revision'),
    series: 'etcd_history_replaced_total{storage_cluster_id="etcd-0",reason="revision"} 1',
  },
  {
    act: ({ cacheLost }) => cacheLost(),
    series: 'apiserver_watch_cache_reinitializations_total{storage_cluster_id="etcd-0"} 1',
  },
])('$series', async ({ act, series }) => {
  const metrics = createMetrics({ ofProcess: false });
  const measures = createEtcdMeasures(metrics, new StoredKinds('/registry', kinds({ eventLifetimeSeconds: 60 })), [
    'etcd-0',
  ])('etcd-0');
  act(measures);
  expect((await exposed(metrics)).split('\n')).toContain(series);
});

test('kinds of different groups with one plural have series of their own', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const namesake = defineKind({
    group: 'other.example',
    version: 'v1',
    kind: 'Event',
    plural: 'events',
    singular: 'event',
    description: '',
    fields: {},
  });
  const measures = createEtcdMeasures(
    metrics,
    new StoredKinds('/registry', [namesake, ...kinds({ eventLifetimeSeconds: 60 })]),
    ['etcd-0'],
  )('etcd-0');
  measures.operationEnded('get', '/registry/events/n/a', 0.01, false);
  measures.operationEnded('get', '/registry/events.other.example/n/a', 0.01, false);
  const lines = (await exposed(metrics)).split('\n');
  for (const group of ['', 'other.example'])
    expect(lines).toContain(`etcd_requests_total{operation="get",group="${group}",resource="events"} 1`);
});
