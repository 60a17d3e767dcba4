/** What operators see of the way to etcd and of the watch cache, scraped from a server that has had some trouble. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '../../base/test/until.ts';
import { startEtcd } from '../../storage/test/real-etcd.ts';
import { startProxy, type TcpProxy } from '../../storage/test/tcp-proxy.ts';
import { putRaw, rawValue } from './etcd.ts';
import { type ServedKinds, serveKinds } from './serve-kinds.ts';

/** A server starts, and a write in doubt is cleared up. */
const slowTestMs = 60_000;
const accounts = '/api/v1/namespaces/default/serviceaccounts';

const scope = new CleanupStack();
let proxy: TcpProxy;
let server: ServedKinds;
let etcdUrl: string;

beforeAll(async () => {
  const etcd = await startEtcd();
  scope.defer('etcd', () => etcd.stop());
  etcdUrl = etcd.endpoints[0] as string;
  // Something that happened before the watch cache begins.
  await putRaw(etcdUrl, '/before', Buffer.from('x'));
  proxy = await startProxy(etcdUrl);
  scope.defer('proxy', () => proxy.close());
  server = await serveKinds(kinds, { etcd: { ...etcd, endpoints: [proxy.endpoint] }, errorsExpected: true });
  scope.defer('server', () => server.close());
  await until('the server to be ready', async () => {
    const answer = await server.open('GET', '/readyz');
    answer.resume();
    return answer.statusCode === 200 || undefined;
  });
}, slowTestMs);
afterAll(() => scope.close(), slowTestMs);

const textOf = async (answer: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const piece of answer) text += String(piece);
  return text;
};
const scrape = async (): Promise<string> => textOf(await server.open('GET', '/metrics'));
/** Undefined when there is no such series. */
async function valueOf(series: string): Promise<number | undefined> {
  const line = (await scrape()).split('\n').find((line) => line.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
const create = (name: string) =>
  server.ask('POST', accounts, { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name } });

const account = 'group="",resource="serviceaccounts"';

test.each([
  // Each attempt, operation and connection.
  `etcd_request_duration_seconds_count{operation="create",${account}}`,
  `etcd_requests_total{operation="create",${account}}`,
  'etcd_client_attempts_total{outcome="answered"}',
  'etcd_client_connections_total',
  // What has not happened yet is there as well, so that an alert can be tested.
  'etcd_client_write_doubts_total',
  'etcd_client_writes_left_in_doubt_total',
  'etcd_client_fences_total',
  'etcd_client_writes_out_of_space_total',
  'apiserver_watch_cache_reinitializations_total',
  // How far memory is.
  'apiserver_watch_cache_revision_lag',
  'apiserver_watch_cache_progress_age_seconds',
  'apiserver_watch_cache_waiting_reads',
  `apiserver_watch_cache_resource_version{${account}}`,
  `apiserver_watch_cache_initializations_total{${account}}`,
  `apiserver_watch_cache_events_received_total{${account}}`,
  `apiserver_watch_cache_events_dispatched_total{${account}}`,
  `apiserver_watch_cache_read_wait_seconds_count{${account}}`,
  `apiserver_watch_cache_consistent_read_total{${account},success="true",fallback="false"}`,
  `apiserver_resource_objects{${account}}`,
  // What watches resume from.
  `watch_cache_capacity{${account}}`,
  `apiserver_watch_cache_window_bytes{${account}}`,
  `apiserver_watch_cache_catch_ups{${account}}`,
  `apiserver_watch_cache_catch_ups_total{${account}}`,
  `apiserver_watch_cache_catch_up_buffered_bytes{${account}}`,
  `apiserver_watch_cache_catch_up_waiting_watches{${account}}`,
  `apiserver_watch_cache_catch_up_refused_watches_total{${account}}`,
  'nodejs_heap_size_limit_bytes',
])(
  'a scrape has %s',
  async (series) => {
    if ((await valueOf(`apiserver_resource_objects{${account}}`)) === 0) {
      expect((await create('first')).status).toBe(201);
      expect((await server.ask('GET', `${accounts}/first`)).status).toBe(200);
    }
    expect(await valueOf(series)).toEqual(expect.any(Number));
  },
  slowTestMs,
);

test.each([
  'etcd_request_errors_total',
  'etcd_client_watch_interruptions_total',
  'etcd_history_replaced_total',
  'apiserver_terminated_watchers_total',
])('%s is declared before anything of it has happened', async (name) => {
  expect(await scrape()).toContain(`# TYPE ${name} counter`);
});

test(
  'a create whose answer is lost counts as a doubt, a lost attempt and a fence, and the connection as a new one',
  async () => {
    const counted = async (): Promise<(number | undefined)[]> =>
      Promise.all(
        [
          'etcd_client_write_doubts_total',
          'etcd_client_attempts_total{outcome="lost"}',
          'etcd_client_fences_total',
          'etcd_client_connections_total',
          'etcd_client_watch_interruptions_total{cause="loss"}',
        ].map(async (series) => (await valueOf(series)) ?? 0),
      );
    const before = await counted();
    proxy.dropResponses = true;
    const creating = create('in-doubt');
    await until('the write', () => rawValue(etcdUrl, '/registry/serviceaccounts/default/in-doubt'));
    proxy.dropResponses = false;
    proxy.cut();
    expect((await creating).status).toBe(201);
    const after = await until('the watch to have come back', async () => {
      const now = await counted();
      return now[4] !== before[4] ? now : undefined;
    });
    expect(after.map((value, at) => (value ?? 0) > (before[at] ?? 0))).toEqual([true, true, true, true, true]);
  },
  slowTestMs,
);

test(
  'a watch from before the window is a catch-up',
  async () => {
    const watch = await server.open('GET', `${accounts}?watch=true&resourceVersion=1&timeoutSeconds=30`);
    await once(watch, 'data');
    watch.destroy();
    expect(await valueOf(`apiserver_watch_cache_catch_ups_total{${account}}`)).toBe(1);
  },
  slowTestMs,
);
