import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { requireValue, seededRandom, sleep, systemClock } from '@cluster-apiserver/base';
import { type RealEtcd, type RealMember, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startProxy, type TcpProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { until } from '@cluster-apiserver/testkit/until';
import { openStore, within } from '../../test/open-store.ts';
import type { CacheItem } from '../watch-cache/collection-descriptor.ts';
import { WatchCache } from '../watch-cache/watch-cache.ts';

/** Longer than an election, and than etcd or a ping takes to notice the fault. */
const faultMs = 7_000;

/**
 * A call is retried for about six election timeouts, of a second each, and a read then waits for its watch. etcd 3.4 may
 * need several elections. Members that are too old for progress requests are pinged less often.
 */
const limitsMs = { write: 6_500, read: 8_000, watch: 8_000 };

let etcd: RealEtcd;
/** One before each member. */
let proxies: TcpProxy[];
const closings: (() => unknown)[] = [];

beforeEach(async () => {
  etcd = await startEtcd({ members: 3, partitionable: true });
  proxies = await Promise.all(etcd.endpoints.map((endpoint) => startProxy(endpoint)));
});
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
  await etcd.stop();
});

interface Item extends CacheItem {
  readonly text: string;
}

/** Connects to this member first. */
function openAt(member: RealMember): ReturnType<typeof openStore> {
  const first = proxyOf(member).endpoint;
  const endpoints = [first, ...proxies.map(({ endpoint }) => endpoint).filter((endpoint) => endpoint !== first)];
  const random = seededRandom(1);
  let choices = 0;
  const opened = openStore(endpoints, {
    random: { ...random, below: (limit) => (choices++ === 0 ? 0 : random.below(limit)) },
  });
  closings.push(() => opened.client.close());
  return opened;
}

/** A replica under load: it writes, reads what it wrote, and sees it in its watch. */
async function openReplica(member: RealMember) {
  const { store } = openAt(member);
  const cache = new WatchCache<Item>({
    store,
    prefix: '/',
    collections: [
      {
        prefix: '/r/',
        read: (entry, key) => ({
          key,
          revision: entry.revision,
          weight: 100,
          text: entry.unreadable ? '?' : entry.value.toString(),
        }),
        termsOf: () => [],
      },
    ],
    clock: systemClock,
    random: seededRandom(1),
    report: () => {},
  });
  closings.push(() => cache.close());
  await cache.firstLoad;
  const collection = requireValue(cache.collections[0]);
  const failures: string[] = [];
  const longestMs = { write: 0, read: 0, watch: 0 };
  let running = true;
  const repeat = async (what: keyof typeof longestMs, act: (n: number) => Promise<unknown>): Promise<void> => {
    for (let n = 0; running; n++) {
      const beganMs = systemClock.monotonicMs();
      try {
        await act(n);
      } catch (error) {
        failures.push(`${what}: ${String(error)}`);
      }
      longestMs[what] = Math.max(longestMs[what], systemClock.monotonicMs() - beganMs);
      await sleep(systemClock, 10);
    }
  };
  let written = -1;
  const working = [
    repeat('write', async (n) => {
      await store.create(`/r/${n}`, Buffer.from('x'), {}, within(10_000));
      written = n;
    }),
    repeat('read', async () => {
      const expected = written;
      await collection.waitUntilFresh(undefined, within(10_000));
      if (expected >= 0 && !collection.get(`${expected}`)) throw new Error(`a stale read without ${expected}`);
    }),
  ];
  // A client that only watches: no read makes its replica look for changes.
  const watcher = openAt(member);
  const stopped = new AbortController();
  const seen: { readonly key: string; readonly atMs: number }[] = [];
  const watching = (async () => {
    for await (const { changes } of watcher.store.watch('/r/', collection.currentRevision, stopped.signal))
      for (const { key } of changes) seen.push({ key, atMs: systemClock.monotonicMs() });
  })();
  /** Ends the load. */
  return async () => {
    running = false;
    await Promise.all(working);
    await until('the watcher to see everything', () => seen.at(-1)?.key === `/r/${written}` || undefined);
    stopped.abort();
    await watching;
    longestMs.watch = Math.max(...seen.map(({ atMs }, n) => atMs - (seen[n - 1]?.atMs ?? atMs)));
    return { failures, longestMs, written: Array.from({ length: written + 1 }, (_, n) => `/r/${n}`), seen };
  };
}

const proxyOf = (member: RealMember): TcpProxy => requireValue(proxies[etcd.members.indexOf(member)]);

/** Records what a replica that uses this member does before, during and after a fault. */
async function judge(member: RealMember, begin: () => Promise<void>, end: () => Promise<void>): Promise<void> {
  const stop = await openReplica(member);
  await sleep(systemClock, 500);
  await begin();
  await sleep(systemClock, faultMs);
  await end();
  await sleep(systemClock, 1_000);
  const { failures, longestMs, written, seen } = await stop();
  expect(failures).toEqual([]);
  expect(written.length).toBeGreaterThan(100);
  expect(seen.map(({ key }) => key)).toEqual(written);
  expect(longestMs.write).toBeLessThan(limitsMs.write);
  expect(longestMs.read).toBeLessThan(limitsMs.read);
  expect(longestMs.watch).toBeLessThan(limitsMs.watch);
}

describe.each(['leader', 'follower'])('a replica that uses the %s', (role) => {
  let member: RealMember;
  beforeEach(async () => {
    const leader = await etcd.leader();
    member = role === 'leader' ? leader : requireValue(etcd.members.find((one) => one !== leader));
  });

  test('goes on at another member when it does not reach this one', async () => {
    const proxy = proxyOf(member);
    await judge(
      member,
      async () => void (proxy.silent = true),
      async () => {
        proxy.silent = false;
        proxy.cut();
      },
    );
  });

  test('goes on at another member when the others do not reach this one', async () => {
    await judge(
      member,
      () => etcd.isolate(member),
      async () => {
        expect(await member.serves()).toBe(false);
        expect(await etcd.leader()).not.toBe(member);
        await etcd.isolate(undefined);
        await until('the member to serve again', async () => (await member.serves()) || undefined);
      },
    );
  });
});
