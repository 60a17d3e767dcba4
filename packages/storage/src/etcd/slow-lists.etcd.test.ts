import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startProxy, type TcpProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { openStore, within } from '../../test/open-store.ts';
import { WatchCache } from '../watch-cache/watch-cache.ts';
import type { WatchCacheEvent } from '../watch-cache/watch-cache-event.ts';

const keys = 400;
const valueBytes = 10_000;

let etcd: RealEtcd;
let proxy: TcpProxy;
beforeAll(async () => {
  etcd = await startEtcd();
  proxy = await startProxy(etcd.endpoints[0] ?? '');
  const { client, store } = openStore(etcd.endpoints);
  const create = (n: number): Promise<unknown> =>
    store.create(`/slow/${String(n).padStart(4, '0')}`, Buffer.alloc(valueBytes), {}, within(30_000));
  await Promise.all(Array.from({ length: keys }, (_, n) => create(n)));
  client.close();
});
afterAll(async () => {
  await proxy.close();
  await etcd.stop();
});

test('a load over a slow network ends, although a full page takes longer than all attempts together', async () => {
  // A page of all keys would take 8 s, and a series of attempts may take 3.2 s.
  proxy.bytesPerSecond = 500_000;
  const { client, store } = openStore([proxy.endpoint], { electionTimeoutMs: 500 });
  const events: WatchCacheEvent[] = [];
  const cache = new WatchCache({
    store,
    prefix: '/slow/',
    collections: [
      { prefix: '/slow/', read: ({ revision }, key) => ({ key, revision, weight: valueBytes }), termsOf: () => [] },
    ],
    clock: systemClock,
    random: systemRandom(),
    report: (event) => events.push(event),
  });
  await cache.firstLoad;
  expect(cache.collections[0]?.statistics.objects).toBe(keys);
  expect(events).toEqual([expect.objectContaining({ type: 'loaded', items: keys })]);
  proxy.bytesPerSecond = undefined;
  await cache.close();
  client.close();
}, 60_000);
