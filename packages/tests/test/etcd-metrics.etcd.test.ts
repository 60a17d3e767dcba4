/** Metrics of the etcd client and of the watch cache, scraped from a server after some failures. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startProxy, type TcpProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { putRaw, rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { type TestServer, serveKinds } from './serve-kinds.ts';

/** Time to start a server and to resolve a write of unknown outcome. */
const slowTestMs = 60_000;
const accounts = '/api/v1/namespaces/default/serviceaccounts';

const cleanup = new CleanupStack();
let proxy: TcpProxy;
let server: TestServer;
let etcdUrl: string;

beforeAll(async () => {
  const etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  etcdUrl = etcd.endpoints[0] as string;
  // A change before the start of the watch cache.
  await putRaw(etcdUrl, '/before', Buffer.from('x'));
  proxy = await startProxy(etcdUrl);
  cleanup.defer('proxy', () => proxy.close());
  server = await serveKinds(kinds, { etcd: { ...etcd, endpoints: [proxy.endpoint] }, errorsExpected: true });
  cleanup.defer('server', () => server.close());
  await until('the server to be ready', async () => (await server.statusOf('GET', '/readyz')) === 200 || undefined);
  expect((await create('first')).status).toBe(201);
  expect((await server.request('GET', `${accounts}/first`)).status).toBe(200);
}, slowTestMs);
afterAll(() => cleanup.close(), slowTestMs);

/** Returns undefined if the series does not exist. */
async function valueOf(series: string): Promise<number | undefined> {
  const line = (await server.metricsPage()).split('\n').find((line) => line.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
const create = (name: string) =>
  server.request('POST', accounts, { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name } });

const cluster = 'storage_cluster_id="etcd-0"';
const account = 'group="",resource="serviceaccounts"';

test.each([
  // Attempts, operations and connections.
  `etcd_request_duration_seconds_count{operation="create",${account}}`,
  `etcd_requests_total{operation="create",${account}}`,
  `etcd_client_attempts_total{${cluster},outcome="answered"}`,
  `etcd_client_connections_total{${cluster}}`,
  // Series exist before their first event, so that alerts can be tested.
  `etcd_client_write_attempts_unknown_outcome_total{${cluster}}`,
  `etcd_client_writes_unknown_outcome_total{${cluster}}`,
  `etcd_client_fences_total{${cluster}}`,
  `etcd_client_writes_out_of_space_total{${cluster}}`,
  `apiserver_watch_cache_reinitializations_total{${cluster}}`,
  // Progress of the watch cache.
  `apiserver_watch_cache_revision_lag{${cluster}}`,
  `apiserver_watch_cache_progress_age_seconds{${cluster}}`,
  `apiserver_watch_cache_waiting_reads{${cluster}}`,
  `apiserver_watch_cache_resource_version{${account}}`,
  `apiserver_watch_cache_initializations_total{${account}}`,
  `apiserver_watch_cache_events_received_total{${account}}`,
  `apiserver_watch_cache_events_dispatched_total{${account}}`,
  `apiserver_watch_cache_read_wait_seconds_count{${account}}`,
  `apiserver_watch_cache_consistent_read_total{${account},success="true",fallback="false"}`,
  `apiserver_resource_objects{${account}}`,
  // Events that watches can resume from.
  `watch_cache_capacity{${account}}`,
  `apiserver_watch_cache_window_bytes{${account}}`,
  `apiserver_watch_cache_suspended{${account}}`,
  'nodejs_heap_size_limit_bytes',
])(
  'a scrape has %s',
  async (series) => {
    expect(await valueOf(series)).toEqual(expect.any(Number));
  },
  slowTestMs,
);

test.each([
  'etcd_request_errors_total',
  'etcd_client_watch_interruptions_total',
  'etcd_history_replaced_total',
  'apiserver_terminated_watchers_total',
])('%s exists before its first event', async (name) => {
  expect(await server.metricsPage()).toContain(`# TYPE ${name} counter`);
});

test(
  'a create whose response is lost counts as an attempt of unknown outcome, a lost attempt and a fence, and the reconnect as a new connection',
  async () => {
    const readCounts = async (): Promise<(number | undefined)[]> =>
      Promise.all(
        [
          `etcd_client_write_attempts_unknown_outcome_total{${cluster}}`,
          `etcd_client_attempts_total{${cluster},outcome="lost"}`,
          `etcd_client_fences_total{${cluster}}`,
          `etcd_client_connections_total{${cluster}}`,
          `etcd_client_watch_interruptions_total{${cluster},cause="loss"}`,
        ].map(async (series) => (await valueOf(series)) ?? 0),
      );
    const before = await readCounts();
    proxy.dropResponses = true;
    const creating = create('in-doubt');
    await until('the write', () => rawValue(etcdUrl, '/registry/serviceaccounts/default/in-doubt'));
    proxy.dropResponses = false;
    proxy.cut();
    expect((await creating).status).toBe(201);
    const after = await until('the watch to be reopened', async () => {
      const now = await readCounts();
      return now[4] !== before[4] ? now : undefined;
    });
    expect(after.map((value, at) => (value ?? 0) > (before[at] ?? 0))).toEqual([true, true, true, true, true]);
  },
  slowTestMs,
);
