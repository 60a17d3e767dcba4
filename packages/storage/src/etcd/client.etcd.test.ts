import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { seededRandom, systemClock } from '@cluster-apiserver/base';
import { openStore, within } from '../../test/open-store.ts';
import { type RealEtcd, type RealMember, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { startProxy, type TcpProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { FollowedStore } from '../store.ts';
import { WatchCache } from '../watch-cache/watch-cache.ts';
import { noMeasures } from './measures.ts';

/** The promise is 2 s; the rest is for a machine that is busy with other tests, and still far from an election's time. */
const noQuorumMaxMs = 4_000;

/** As when the machine stops, or a collection of garbage is long: nothing in this process runs. */
const standStill = (forMs: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, forMs);
};

/** A write waits 1.8 s for a majority of the members. On a busy machine they elect a leader later than that. */
const excusedOutageMs = 1_700;

interface Write {
  readonly key: string;
  readonly value: string;
  readonly revision: Revision | undefined;
  readonly error: unknown;
}

describe('three members', () => {
  let etcd: RealEtcd;
  let opened: ReturnType<typeof openStore>;
  let run = 0;

  beforeAll(async () => {
    etcd = await startEtcd({ members: 3 });
  });
  afterAll(() => etcd.stop());
  afterEach(async () => {
    opened.client.close();
    for (const member of etcd.members) await (member.running ? member.signal('SIGCONT') : member.start());
    await etcd.leader();
  });

  /** Writers that create, update and delete their own keys without a pause, until they are stopped. */
  function startWriters(
    store: FollowedStore,
    count: number,
  ): { stop(): Promise<readonly Write[]>; readonly writes: readonly Write[] } {
    const writes: Write[] = [];
    const prefix = `/run${run++}/`;
    let stopped = false;
    const record = async (key: string, value: string, act: () => Promise<Revision>): Promise<Revision> => {
      try {
        const at = await act();
        writes.push({ key, value, revision: at, error: undefined });
        return at;
      } catch (error) {
        writes.push({ key, value, revision: undefined, error });
        throw error;
      }
    };
    const writer = async (n: number): Promise<void> => {
      for (let turn = 0; !stopped; turn++) {
        const key = `${prefix}${n}/${turn}`;
        const value = (step: string): Buffer => Buffer.from(`${key} ${step}`);
        try {
          const one = await record(key, 'one', () => store.create(key, value('one'), {}, within(30_000)));
          const two = await record(key, 'two', () => store.update(key, value('two'), one, {}, within(30_000)));
          await record(key, 'gone', () => store.delete(key, two, within(30_000)));
        } catch {
          // Recorded; judged at the end.
        }
      }
    };
    const running = Array.from({ length: count }, (_, n) => writer(n));
    return {
      writes,
      stop: async () => {
        stopped = true;
        await Promise.all(running);
        return writes;
      },
    };
  }

  /** What etcd itself has recorded since a revision, as a watch of another client delivers it. */
  async function recorded(prefix: string, after: Revision, until: Revision): Promise<ReadonlyMap<number, string>> {
    const { client, store } = openStore(etcd.endpoints);
    const seen = new Map<number, string>();
    const abort = new AbortController();
    for await (const { revision: at, changes } of store.watch(prefix, after, abort.signal)) {
      for (const { key, current } of changes)
        seen.set(at, `${key} ${current && !current.unreadable ? current.value.toString().split(' ')[1] : 'gone'}`);
      if (at >= until) break;
    }
    client.close();
    return seen;
  }

  /** Returns how many milliseconds etcd itself takes from now until one of its members serves. */
  async function recovered(without?: RealMember): Promise<number> {
    const beganMs = performance.now();
    await until('etcd to recover', async () => {
      for (const member of etcd.members)
        if (member !== without && member.running && (await member.serves())) return true;
      return undefined;
    });
    return performance.now() - beganMs;
  }

  /** Writes may fail only if etcd itself did not serve for about as long as a write waits for a majority. */
  async function judge(writes: readonly Write[], start: Revision, outageMs: number): Promise<void> {
    const failed = writes.filter(({ error }) => error);
    if (outageMs < excusedOutageMs)
      expect(failed.map(({ key, value, error }) => `${key} ${value}: ${error}`)).toEqual([]);
    const acknowledged = writes.flatMap((write) => (write.revision ? [{ ...write, revision: write.revision }] : []));
    const last = Math.max(...acknowledged.map((write) => write.revision));
    const history = await recorded('/run', start, revision(last));
    // Each acknowledged write is the one change at its revision.
    const responses = new Map(acknowledged.map(({ revision: at, key, value }) => [at as number, `${key} ${value}`]));
    expect(responses.size).toBe(acknowledged.length);
    // A failed one may have been applied, but once. There is no other change.
    const inDoubt = new Set(failed.map(({ key, value }) => `${key} ${value}`));
    for (const [at, change] of history) if (!responses.has(at) && inDoubt.delete(change)) responses.set(at, change);
    expect(history).toEqual(responses);
  }

  /** Writers at work, and finally a check of the responses that they received. */
  async function startLoad(): Promise<{
    traffic(when: string, writes?: number): Promise<true>;
    judge(outageMs?: number): Promise<void>;
  }> {
    opened = openStore(etcd.endpoints, { isFollowed: true });
    await opened.followed;
    const start = (await opened.store.get('/', within(2_000))).revision;
    const { writes, stop } = startWriters(opened.store, 8);
    const traffic = (when: string, more = 100): Promise<true> => {
      const before = writes.length;
      return until(`traffic ${when}`, () => writes.length > before + more || undefined);
    };
    await traffic('at the beginning');
    return { traffic, judge: async (outageMs = 0) => judge(await stop(), start, outageMs) };
  }

  test('the leader is killed under 8 writers: no write fails, none is lost, none happens twice', async () => {
    const load = await startLoad();
    let outageMs = 0;
    for (let kill = 0; kill < 3; kill++) {
      await load.traffic('before the kill');
      const leader = await etcd.leader();
      await leader.signal('SIGKILL');
      outageMs = Math.max(outageMs, await recovered());
      await load.traffic('after the kill');
      await leader.start();
    }
    await load.judge(outageMs);
  }, 120_000);

  test('the leader stalls under 8 writers: no write fails, none is lost, none happens twice', async () => {
    const load = await startLoad();
    const leader = await etcd.leader();
    await leader.signal('SIGSTOP');
    const outageMs = await recovered(leader);
    await load.traffic('meanwhile');
    await leader.signal('SIGCONT');
    await load.traffic('afterwards');
    await load.judge(outageMs);
  }, 60_000);

  test('the process stalls while its calls wait: no write fails, and there is no outage', async () => {
    const load = await startLoad();
    const leader = await etcd.leader();
    await leader.signal('SIGKILL');
    standStill(5_000);
    // etcd has elected a leader meanwhile, if its own processes were not delayed.
    const outageMs = await recovered();
    await load.traffic('afterwards');
    await load.judge(outageMs);
    if (outageMs < excusedOutageMs) expect(opened.events.filter(({ type }) => type === 'outage')).toEqual([]);
  }, 60_000);

  test('a follower is killed under 8 writers: no write fails', async () => {
    const load = await startLoad();
    const leader = await etcd.leader();
    await etcd.members.find((member) => member !== leader)?.signal('SIGKILL');
    await load.traffic('after the kill', 300);
    await load.judge();
  }, 60_000);

  test.each([
    { how: 'killed', away: 'SIGKILL' },
    { how: 'frozen', away: 'SIGSTOP' },
  ] as const)(
    'two of three are $how: calls fail without a hang, and succeed when they are back',
    async ({ away }) => {
      opened = openStore(etcd.endpoints, { isFollowed: true });
      await opened.followed;
      const { client, store, events } = opened;
      await store.get('/a', within(2_000));
      const leader = await etcd.leader();
      const lost = [leader, ...etcd.members.filter((member) => member !== leader)].slice(0, 2);
      for (const member of lost) await member.signal(away);
      const timed = async (act: () => Promise<unknown>): Promise<{ error: unknown; tookMs: number }> => {
        const startMs = client.stallAwareClock.nowMs();
        const error = await act().then(
          () => undefined,
          (thrown) => thrown,
        );
        return { error, tookMs: client.stallAwareClock.nowMs() - startMs };
      };
      const first = await Promise.all([
        timed(() => store.get('/a', within(30_000))),
        timed(() => store.create(`/quorum/${away}`, Buffer.from('x'), {}, within(30_000))),
        timed(() => store.list({ prefix: '/quorum' }, within(30_000))),
      ]);
      for (const { error, tookMs } of first) {
        expect(error).toBeInstanceOf(StorageUnavailableError);
        expect(tookMs).toBeLessThan(noQuorumMaxMs);
      }
      const later = await timed(() => store.get('/a', within(30_000)));
      expect(later.error).toBeInstanceOf(StorageUnavailableError);
      for (const member of lost) await (away === 'SIGKILL' ? member.start() : member.signal('SIGCONT'));
      await until('etcd to be back', async () => (await etcd.members[0]?.serves()) || undefined);
      await until('an answer', () =>
        store.get('/a', within(1_000)).then(
          () => true,
          () => undefined,
        ),
      );
      expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['outage', 'outage ended']));
    },
    60_000,
  );

  test('a call never exceeds its deadline, and does not start an outage by it', async () => {
    opened = openStore(etcd.endpoints, { isFollowed: true });
    await opened.followed;
    const { client, store, events } = opened;
    await store.get('/a', within(2_000));
    for (const member of etcd.members) await member.signal('SIGSTOP');
    const startMs = client.stallAwareClock.nowMs();
    await expect(store.get('/a', within(200))).rejects.toThrow(StorageUnavailableError);
    // Sooner than a call without a quorum would end by itself.
    expect(client.stallAwareClock.nowMs() - startMs).toBeLessThan(1_500);
    expect(events.filter(({ type }) => type === 'outage')).toEqual([]);
  });
});

describe('a member behind a network', () => {
  let etcd: RealEtcd;
  let proxies: readonly TcpProxy[];
  beforeAll(async () => {
    etcd = await startEtcd({ members: 3 });
    proxies = await Promise.all(etcd.endpoints.map(startProxy));
  });
  afterAll(async () => {
    for (const proxy of proxies) await proxy.close();
    await etcd.stop();
  });

  test('that stops responding fails no call', async () => {
    const { client, store } = openStore(
      proxies.map(({ endpoint }) => endpoint),
      { isFollowed: true },
    );
    await store.get('/a', within(2_000));
    const silent = proxies.find(({ accepted }) => accepted > 0) as TcpProxy;
    silent.silent = true;
    for (let n = 0; n < 20; n++) {
      await store.create(`/silent/${n}`, Buffer.from('x'), {}, within(10_000));
      await pause(5);
    }
    silent.silent = false;
    client.close();
  });
});

test('a slow leader gets longer timeouts: each write is sent once', async () => {
  const one = await startEtcd();
  const proxy = await startProxy(one.endpoints[0] as string);
  const outcomes: string[] = [];
  const { client, store } = openStore([proxy.endpoint], {
    measures: { ...noMeasures, attemptEnded: (outcome) => outcomes.push(outcome) },
  });
  await store.create('/slow/begin', Buffer.from('x'), {}, within(5_000));
  const read = async (): Promise<Revision | undefined> =>
    (await store.get('/slow/begin', within(10_000))).stored?.revision;
  // Longer than the timeout of a first attempt, and shorter than that of a later one.
  proxy.delayMs = 500;
  const patient = async <T>(act: () => Promise<T>): Promise<T> =>
    until('an answer', () => act().catch(() => undefined));
  let at = (await patient(read)) as Revision;
  await patient(async () =>
    store.update('/slow/begin', Buffer.from('y'), (await read()) as Revision, {}, within(10_000)),
  );
  outcomes.length = 0;
  at = (await read()) as Revision;
  for (let n = 0; n < 3; n++) at = await store.update('/slow/begin', Buffer.from(`${n}`), at, {}, within(10_000));
  expect(outcomes).toEqual(['answered', 'answered', 'answered', 'answered']);
  client.close();
  await proxy.close();
  await one.stop();
});

test('an outage does not end because an endpoint of another cluster responds', async () => {
  const [ours, foreign] = [await startEtcd({ members: 3 }), await startEtcd()];
  const { client, store, events } = openStore([...ours.endpoints, ...foreign.endpoints]);
  await store.create('/outage/a', Buffer.from('x'), {}, within(10_000));
  for (const member of ours.members) await member.signal('SIGSTOP');
  await expect(store.get('/outage/a', within(10_000))).rejects.toThrow(StorageUnavailableError);
  // Until the probe has tried all members several times.
  for (let n = 0; n < 3; n++)
    await expect(store.get('/outage/a', within(10_000))).rejects.toThrow('etcd has no quorum');
  expect(events.map(({ type }) => type)).not.toContain('outage ended');
  for (const member of ours.members) await member.signal('SIGCONT');
  await until('etcd to be back', () => store.get('/outage/a', within(10_000)).catch(() => undefined));
  client.close();
  await ours.stop();
  await foreign.stop();
}, 60_000);

test('after slow responses a call without a quorum fails before the timeout of its attempt', async () => {
  const one = await startEtcd();
  const proxy = await startProxy(one.endpoints[0] as string);
  const { client, store } = openStore([proxy.endpoint], { electionTimeoutMs: 2_000, isFollowed: true });
  const read = (): Promise<unknown> => store.get('/slow/a', within(30_000));
  for (const delayMs of [0, 800, 1_500]) {
    proxy.delayMs = delayMs;
    await read();
  }
  proxy.silent = true;
  // The attempt itself may take 3 s.
  const error: unknown = await read().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StorageUnavailableError);
  expect(`${(error as StorageUnavailableError).cause}`).toMatch(/most members have become silent$/);
  client.close();
  await proxy.close();
  await one.stop();
}, 30_000);

test('the watch cache switches to a live member when its member stalls', async () => {
  const three = await startEtcd({ members: 3 });
  const { client, store } = openStore(three.endpoints);
  const cache = new WatchCache({
    store,
    prefix: '/',
    collections: [
      { prefix: '/r/', read: (entry, key) => ({ key, revision: entry.revision, weight: 1 }), termsOf: () => [] },
    ],
    clock: systemClock,
    random: seededRandom(1),
    report: () => {},
  });
  await cache.firstLoad;
  const other = openStore(three.endpoints);
  for (const member of three.members) {
    await member.signal('SIGSTOP');
    const { name, at } = await createEventually(other.store, '/r/');
    // Less than it takes until a silent connection is noticed by its pings.
    await cache.collections[0]?.waitUntilFresh(at, within(5_000));
    expect(cache.collections[0]?.get(name)?.revision).toBe(at);
    await member.signal('SIGCONT');
    await until('it to serve', async () => (await member.serves()) || undefined);
  }
  await cache.close();
  client.close();
  other.client.close();
  await three.stop();
});

/** While members elect a leader a write may fail, or be in doubt: then another key is tried. */
function createEventually(
  store: FollowedStore,
  prefix: string,
): Promise<{ readonly name: string; readonly at: Revision }> {
  let attempt = 0;
  return until('a key to be created', () => {
    const name = `key-${attempt++}`;
    return store.create(`${prefix}${name}`, Buffer.from('x'), {}, within(10_000)).then(
      (at) => ({ name, at }),
      () => undefined,
    );
  });
}
