import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { type OpenedStore, openStore, within } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { startProxy, type TcpProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { HistoryReplacedError, RevisionCompactedError, StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import type { FollowedStore } from '../store.ts';
import { prefixEnd, rangeStart } from './keys.ts';
import { EtcdFault } from './transport.ts';
import { compact } from './wire/key-value.ts';
import { decodeWatchMessage, encodeWatchCreate, watchPath } from './wire/watch.ts';

/** Reads a watch in the background and keeps the revisions that it delivered. */
function follow(store: FollowedStore, prefix: string, after: Revision) {
  const abort = new AbortController();
  const revisions: number[] = [];
  let error: unknown;
  const ended = (async () => {
    try {
      for await (const { changes } of store.watch(prefix, after, abort.signal)) {
        for (const { current, previous } of changes) revisions.push(current?.revision ?? 0 - (previous?.revision ?? 0));
      }
    } catch (thrown) {
      error = thrown;
    }
  })();
  return {
    revisions,
    get error() {
      return error;
    },
    stop: async () => {
      abort.abort();
      await ended;
    },
  };
}

async function writeMany(store: FollowedStore, prefix: string, count: number): Promise<readonly number[]> {
  const revisions: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count)
      revisions.push(await store.create(`${prefix}${next++}`, Buffer.alloc(300), {}, within(30_000)));
  };
  await Promise.all(Array.from({ length: 30 }, worker));
  return revisions.sort((one, other) => one - other);
}

describe('one member', () => {
  let etcd: RealEtcd;
  let proxy: TcpProxy;
  let direct: OpenedStore;
  let proxied: OpenedStore;
  let prefix: string;
  let start: Revision;
  let run = 0;

  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());
  beforeEach(async () => {
    proxy = await startProxy(etcd.endpoints[0] as string);
    direct = openStore(etcd.endpoints);
    proxied = openStore([proxy.endpoint]);
    prefix = `/watch/${run++}/`;
    start = (await direct.store.get(prefix, within(2_000))).revision;
  });
  afterEach(async () => {
    direct.client.close();
    proxied.client.close();
    await proxy.close();
  });

  test.each([2_000, 300_000])(
    '3000 old changes arrive once each though every connection is cut after %d bytes, until they are let through',
    async (bytes) => {
      const written = await writeMany(direct.store, prefix, 3_000);
      proxy.cutAfterBytes = bytes;
      const watch = follow(proxied.store, prefix, start);
      await until('some cuts', () => proxy.accepted > 4 || undefined);
      proxy.cutAfterBytes = undefined;
      proxy.cut();
      await until('all changes', () => watch.revisions.length >= written.length || undefined);
      await watch.stop();
      expect(watch.revisions).toEqual(written);
    },
  );

  test('live changes arrive once each while connections are cut repeatedly', async () => {
    const watch = follow(proxied.store, prefix, start);
    let cutting = true;
    const cuts = (async () => {
      for (let cut = 0; cutting; cut++) {
        const before = watch.revisions.length;
        await until('progress or an end', () => watch.revisions.length > before || !cutting || undefined);
        proxy.cut();
      }
    })();
    const written = await writeMany(direct.store, prefix, 1_500);
    cutting = false;
    await cuts;
    await until('all changes', () => watch.revisions.length >= written.length || undefined);
    await watch.stop();
    expect(watch.revisions).toEqual(written);
  });

  test('a watch on a silent connection continues on another', async () => {
    const watch = follow(proxied.store, prefix, start);
    const [first] = await writeMany(direct.store, prefix, 1);
    await until('the first change', () => watch.revisions.length > 0 || undefined);
    proxy.silent = true;
    // A call over the same connection finds out; a watch alone would find out by its ping.
    await proxied.store.get(prefix, within(300)).catch(() => {});
    proxy.silent = false;
    const [second] = await writeMany(direct.store, `${prefix}more/`, 1);
    await until('the second change', () => watch.revisions.length > 1 || undefined);
    await watch.stop();
    expect(watch.revisions).toEqual([first, second]);
  });

  test('compaction does not disturb a watch that is ahead of it, even if it reconnects', async () => {
    const watch = follow(proxied.store, prefix, start);
    const written = await writeMany(direct.store, prefix, 20);
    await until('the changes', () => watch.revisions.length === 20 || undefined);
    await direct.client.call(compact, written.at(-1) as number, within(2_000));
    proxy.cut();
    const more = await writeMany(direct.store, `${prefix}more/`, 5);
    await until('the further changes', () => watch.revisions.length === 25 || undefined);
    await watch.stop();
    expect(watch.error).toBeUndefined();
    expect(watch.revisions).toEqual([...written, ...more]);
  });

  test('a deletion at the compacted revision is never omitted silently', async () => {
    const created = await direct.store.create(`${prefix}gone`, Buffer.alloc(1), {}, within(2_000));
    const deleted = await direct.store.delete(`${prefix}gone`, created, within(2_000));
    await writeMany(direct.store, prefix, 1);
    await direct.client.call(compact, deleted, within(2_000));
    const watch = follow(direct.store, prefix, created);
    await until('an end', () => watch.error ?? watch.revisions[0]);
    await watch.stop();
    expect(watch.error).toBeInstanceOf(RevisionCompactedError);
  });

  test('a watch of compacted revisions ends with the oldest kept one', async () => {
    const written = await writeMany(direct.store, prefix, 5);
    await direct.client.call(compact, written.at(-1) as number, within(2_000));
    const watch = follow(direct.store, prefix, start);
    await until('the end', () => watch.error as Error | undefined);
    expect(watch.error).toBeInstanceOf(RevisionCompactedError);
    expect((watch.error as RevisionCompactedError).oldestRevision).toBe(written.at(-1));
  });

  test('compaction beyond all that a disconnected client knows ends its watch as if etcd was replaced', async () => {
    const watch = follow(proxied.store, prefix, start);
    await writeMany(direct.store, prefix, 5);
    await until('the changes', () => watch.revisions.length === 5 || undefined);
    proxy.cutAfterBytes = 0;
    proxy.cut();
    const missed = await writeMany(direct.store, `${prefix}missed/`, 20);
    await direct.client.call(compact, missed.at(-1) as number, within(2_000));
    proxy.cutAfterBytes = undefined;
    await until('the end', () => watch.error as Error | undefined);
    expect(watch.error).toBeInstanceOf(HistoryReplacedError);
    expect(proxied.events).toContainEqual(expect.objectContaining({ type: 'history replaced', reason: 'compacted' }));
  });

  test('changes of one revision arrive together: keys that expire with their lease', async () => {
    const lives = { timeToLiveSeconds: 1 };
    const keys = ['a', 'b', 'c'].map((name) => prefix + name);
    let last = revision(0);
    for (const key of keys) last = await direct.store.create(key, Buffer.from('x'), lives, within(2_000));
    const abort = new AbortController();
    for await (const { changes } of direct.store.watch(prefix, last, abort.signal)) {
      if (changes.length === 0) continue;
      expect(new Map(changes.map(({ key, current }) => [key, current]))).toEqual(
        new Map(keys.map((key) => [key, undefined])),
      );
      break;
    }
  });

  test('large old changes arrive in messages of bounded size, and those of one revision together', async () => {
    const mebibyte = 1024 * 1024;
    let last = start;
    for (let n = 0; n < 20; n++)
      last = await direct.store.create(`${prefix}${n}`, Buffer.alloc(mebibyte), {}, within(5_000));
    const expiring = ['a', 'b', 'c', 'd'].map((name) => prefix + name);
    for (const key of expiring)
      await direct.store.create(key, Buffer.alloc(mebibyte), { timeToLiveSeconds: 1 }, within(5_000));
    const isGone = async () => !(await direct.store.get(expiring[0] as string, within(5_000))).stored;
    await until('the keys to expire', async () => (await isGone()) || undefined);

    const stream = await direct.client.openStream(watchPath);
    const range = { key: rangeStart(prefix, undefined), end: prefixEnd(prefix) };
    stream.send(encodeWatchCreate({ ...range, startRevision: start + 1, withPrevious: true }));
    const sizes: number[] = [];
    let events = 0;
    for await (const message of stream.messages) {
      sizes.push(message.length);
      events += decodeWatchMessage(message).size;
      if (events === 28) break;
    }
    stream.close();
    // etcd's limit of a request, 1.5 MiB, and what gRPC adds; or one event.
    expect(Math.max(...sizes)).toBeLessThan(3 * mebibyte);

    const sets: (readonly string[])[] = [];
    for await (const { changes } of direct.store.watch(prefix, start, new AbortController().signal)) {
      if (changes.length > 0) sets.push(changes.map(({ key }) => key).toSorted());
      if (sets.length === 25) break;
    }
    expect(sets.slice(0, 24).every((keys) => keys.length === 1)).toBe(true);
    expect(sets.at(-1)).toEqual(expiring);
    expect(last).toBeGreaterThan(start);
  });

  test('a watch ends with the client', async () => {
    const watch = follow(proxied.store, prefix, start);
    await writeMany(direct.store, prefix, 1);
    await until('the change', () => watch.revisions.length > 0 || undefined);
    proxied.client.close();
    await until('the end', () => watch.error as Error | undefined);
    await watch.stop();
  });
});

test('a quiet watch is accepted again when etcd has a leader again', async () => {
  const three = await startEtcd({ members: 3 });
  const { client, store, events } = openStore(three.endpoints);
  const start = (await store.get('/', within(5_000))).revision;
  const watch = follow(store, '/quiet/', start);
  const most = three.members.slice(1);
  await until('the watch', async () => (await countWatches(three)) > 0 || undefined);
  for (const member of most) await member.signal('SIGSTOP');
  await until('the loss', () => events.some(({ type }) => type === 'watch lost') || undefined);
  for (const member of most) await member.signal('SIGCONT');
  await until('a leader', async () => (await three.members[0]?.serves()) || undefined);
  await until('the watch', async () => (await countWatches(three)) > 0 || undefined);
  await client.checkRefusals(within(5_000));
  expect(events.filter(({ type }) => type.startsWith('watch '))).toHaveLength(1);
  await watch.stop();
  client.close();
  await three.stop();
}, 60_000);

test('only what will not change by itself counts as a refusal of the watch', async () => {
  const etcd = await startEtcd();
  const { client, events } = openStore(etcd.endpoints);
  const types = (): string[] => events.map(({ type }) => type);
  client.noteWatchOutcome(new EtcdFault('refused', 14, 'etcdserver: no leader'));
  client.noteWatchOutcome(new EtcdFault('refused', 4, 'context deadline exceeded'));
  await client.checkRefusals(within(5_000));
  expect(types()).toEqual(['watch lost']);
  client.noteWatchOutcome(new EtcdFault('refused', 7, 'etcdserver: permission denied'));
  await expect(client.checkRefusals(within(5_000))).rejects.toThrow('permission denied');
  client.noteWatchOutcome(undefined);
  await client.checkRefusals(within(5_000));
  expect(types()).toEqual(['watch lost', 'watch refused', 'watch accepted']);
  client.close();
  await etcd.stop();
});

/** Open watches on all members, by their own metrics. */
async function countWatches({ endpoints }: RealEtcd): Promise<number> {
  const pages = await Promise.all(endpoints.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  return pages.reduce((sum, page) => sum + Number(/^etcd_debugging_mvcc_watcher_total (\d+)$/m.exec(page)?.[1]), 0);
}

describe('three members', () => {
  let etcd: RealEtcd;
  beforeAll(async () => {
    etcd = await startEtcd({ members: 3 });
  });
  afterAll(() => etcd.stop());

  test('a watch misses and repeats nothing while each member in turn is killed under load', async () => {
    const { client, store } = openStore(etcd.endpoints);
    const start = (await store.get('/', within(5_000))).revision;
    const watch = follow(store, '/killed/', start);
    let writing = true;
    const written: number[] = [];
    const writer = async (n: number): Promise<void> => {
      for (let turn = 0; writing; turn++) {
        try {
          written.push(await store.create(`/killed/${n}/${turn}`, Buffer.from('x'), {}, within(30_000)));
        } catch (error) {
          // An election that takes longer than a call waits: the client learns at the end whether the write was applied.
          if (!(error instanceof StorageUnavailableError)) throw error;
        }
      }
    };
    const writers = [writer(0), writer(1), writer(2), writer(3)];
    for (const member of etcd.members) {
      const before = written.length;
      await until('traffic', () => written.length > before + 100 || undefined);
      await member.signal('SIGKILL');
      const killed = written.length;
      await until('traffic after the kill', () => written.length > killed + 100 || undefined);
      await member.start();
    }
    writing = false;
    await Promise.all(writers);
    // Each key was written once, so the present keys are all changes.
    const { entries } = await store.list({ prefix: '/killed/' }, within(10_000));
    const stored = entries.map((entry) => entry.revision as number).sort((one, other) => one - other);
    await until('all changes', () => watch.revisions.length >= stored.length || undefined);
    await watch.stop();
    client.close();
    expect(watch.error).toBeUndefined();
    expect(watch.revisions).toEqual(stored);
    expect(new Set(stored)).toEqual(new Set([...stored, ...written]));
  }, 90_000);
});
