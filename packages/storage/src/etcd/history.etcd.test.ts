import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { seededRandom, sleep, systemClock } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { openStore, within } from '../../test/open-store.ts';
import { etcdctl, type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { HistoryReplacedError, StorageUnavailableError } from '../errors.ts';
import type { Revision } from '../revision.ts';
import type { ChangeSet, Entry, FollowedStore } from '../store.ts';
import { WatchCache } from '../watch-cache/watch-cache.ts';
import type { CacheItem } from '../watch-cache/collection-descriptor.ts';
import type { EtcdEvent } from './etcd-event.ts';
import { Election } from './election.ts';

let etcd: RealEtcd;
const closings: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close();
  await etcd.stop();
});

const bytes = (text: string): Buffer => Buffer.from(text);
const put = (store: FollowedStore, name: string): Promise<Revision> =>
  store.create(`/r/${name}`, bytes(name), {}, within(5_000));
const found = (events: readonly EtcdEvent[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'history replaced' ? event.reason : []));

function open(endpoints = etcd.endpoints): ReturnType<typeof openStore> {
  const opened = openStore(endpoints);
  closings.push(() => opened.client.close());
  return opened;
}

interface Item extends CacheItem {
  readonly text: string;
}
const textOf = (entry: Entry): string => (entry.unreadable ? '?' : entry.value.toString());

/** A memory over all, and what its followers are notified of. */
function follow(store: FollowedStore) {
  const reports: string[] = [];
  const cache = new WatchCache<Item>({
    store,
    prefix: '/',
    collections: [
      {
        prefix: '/r/',
        read: (entry, key) => ({ key, revision: entry.revision, weight: 100, text: textOf(entry) }),
        termsOf: () => [],
      },
    ],
    clock: systemClock,
    random: seededRandom(1),
    report: ({ type }) => reports.push(type),
  });
  closings.push(() => cache.close());
  const [collection] = cache.collections;
  if (!collection) throw new Error('there is one form');
  const names = (): string[] => {
    const all: string[] = [];
    collection.view().items.visit('', ({ text }) => all.push(text) > 0);
    return all;
  };
  return { cache, collection, names, reports };
}

const restorable = etcdctl ? describe : describe.skip;
restorable(etcdctl ? 'with etcdctl' : 'skipped: there is no etcdctl', () => {
  describe.each([
    { members: 1, how: 'as the same cluster', token: undefined, reason: 'revision' },
    { members: 1, how: 'as another cluster', token: 'another', reason: 'cluster id' },
    { members: 3, how: 'as the same cluster', token: undefined, reason: 'revision' },
    { members: 3, how: 'as another cluster', token: 'another', reason: 'cluster id' },
  ])('a snapshot that $members members are restored from, $how,', ({ members, token, reason }) => {
    beforeEach(async () => {
      etcd = await startEtcd({ members });
    });

    test('is detected while idle, and then everything is of the restored data', async () => {
      const { store, events } = open();
      await put(store, 'kept');
      const snapshot = etcd.snapshot('backup');
      const { cache, collection, names, reports } = follow(store);
      const lost = await put(store, 'lost');
      collection.noteLocalWrite(lost);
      await collection.waitUntilFresh(undefined, within(5_000));
      expect(names()).toEqual(['kept', 'lost']);
      let interruptions = 0;
      collection.subscribe({ onChange: () => {}, onReset: () => interruptions++ });
      await etcd.restore(snapshot, { token });
      await until('the replacement to be noticed', () => found(events).length > 0 || undefined);
      expect(found(events)).toEqual([reason]);
      expect(interruptions).toBeGreaterThan(0);
      await until('memory to be filled again', () => cache.isSynced || undefined);
      await collection.waitUntilFresh(undefined, within(5_000));
      expect(names()).toEqual(['kept']);
      await put(store, 'new');
      await collection.waitUntilFresh(undefined, within(5_000));
      expect(names()).toEqual(['kept', 'new']);
      expect(reports).toEqual(['loaded', 'history replaced', 'loaded']);
    });
  });

  test('restored data beyond the known revision are detected by their content', async () => {
    etcd = await startEtcd();
    const proxy = await startProxy(etcd.endpoints[0] as string);
    closings.push(() => proxy.close());
    const { store, events } = open([proxy.endpoint]);
    await put(store, 'kept');
    const snapshot = etcd.snapshot('backup');
    const { cache, collection, names } = follow(store);
    await put(store, 'lost');
    await collection.waitUntilFresh(undefined, within(5_000));
    proxy.silent = true;
    await etcd.restore(snapshot);
    const other = open();
    for (let n = 0; n < 20; n++) await put(other.store, `other-${n}`);
    proxy.silent = false;
    proxy.cut();
    await until('the replacement to be noticed', () => found(events).length > 0 || undefined);
    expect(found(events)).toEqual(['content']);
    await until('memory to be filled again', () => cache.isSynced || undefined);
    await collection.waitUntilFresh(undefined, within(5_000));
    expect(names()).toHaveLength(21);
    expect(names()).not.toContain('lost');
  });

  test('no write decided on the old data reaches the restored data, whatever its revision', async () => {
    etcd = await startEtcd();
    const proxy = await startProxy(etcd.endpoints[0] as string);
    closings.push(() => proxy.close());
    const { store, client } = open([proxy.endpoint]);
    await put(store, 'kept');
    const snapshot = etcd.snapshot('backup');
    const at = await put(store, 'a');
    proxy.silent = true;
    await etcd.restore(snapshot);
    const other = open();
    // The same revision, of another object under the same name.
    expect(await other.store.create('/r/a', bytes('of the restored'), {}, within(5_000))).toBe(at);
    await other.store.create('/r/b', bytes('b'), {}, within(5_000));
    const history = client.history.number;
    const updating = store.update('/r/a', bytes('of the old'), at, {}, within(5_000)).catch((error: unknown) => error);
    proxy.silent = false;
    proxy.cut();
    const outcome = await updating;
    // The replica has written that revision itself, and nothing watched.
    expect(outcome).toBeInstanceOf(HistoryReplacedError);
    expect(client.history.number).toBe(history + 1);
    const { stored } = await other.store.get('/r/a', within(5_000));
    expect(stored?.value.toString()).toBe('of the restored');
  });

  test('a leader loses leadership, and a running list is not continued', async () => {
    etcd = await startEtcd();
    const { store, client } = open();
    await put(store, 'kept');
    const snapshot = etcd.snapshot('backup');
    for (let n = 0; n < 10; n++) await put(store, `lost-${n}`);
    const terms: AbortSignal[] = [];
    const election = new Election({
      client,
      key: '/own/election',
      identity: 'test',
      timeToLiveSeconds: 30,
      lead: async (term) => {
        terms.push(term);
      },
    });
    closings.push(() => election.close());
    await until('a leader', () => election.isLeading || undefined);
    const leading = election.isLeading;
    const head = await store.readLatestRevision(within(5_000));
    const watching = store.watch('/', head, new AbortController().signal)[Symbol.asyncIterator]();
    const next: Promise<IteratorResult<ChangeSet> | Error> = watching.next().catch((error: Error) => error);
    await etcd.restore(snapshot);
    expect(await next).toBeInstanceOf(HistoryReplacedError);
    expect(leading).toBe(true);
    expect(terms[0]?.aborted).toBe(true);
    expect(election.isLeading).toBe(false);
  });
});

describe('what arrives of the previous history after its replacement', () => {
  beforeEach(async () => {
    etcd = await startEtcd();
  });

  test('is not noted by a watch whose reader is slow', async () => {
    const { store, client } = open();
    const reading = store.watch('/r/', await put(store, 'first'), new AbortController().signal)[Symbol.asyncIterator]();
    await put(store, 'second');
    await reading.next();
    for (let n = 0; n < 300; n++) await put(store, `${n}`);
    await until('the watch to have read ahead', () => client.history.anchor?.key === '/r/299' || undefined);
    client.history.replace('revision', { clusterId: client.history.clusterId ?? 0, revision: 1 });
    await sleep(systemClock, 100);
    expect([client.history.revision, client.history.anchor]).toEqual([1, undefined]);
    await expect(reading.next()).rejects.toThrow(HistoryReplacedError);
  });

  test('is neither the outcome of a call nor noted', async () => {
    const proxy = await startProxy(etcd.endpoints[0] as string);
    closings.push(() => proxy.close());
    const { store, client } = open([proxy.endpoint]);
    const at = await put(store, 'a');
    proxy.delayMs = 200;
    const outcomes = [
      store.get('/r/a', within(5_000)),
      store.list({ prefix: '/r/' }, within(5_000)),
      put(store, 'b'),
      store.update('/r/a', bytes('new'), at, {}, within(5_000)),
    ].map((outcome) => outcome.catch((error: Error) => error.name));
    await sleep(systemClock, 100);
    client.history.replace('revision', { clusterId: client.history.clusterId ?? 0, revision: 1 });
    expect(await Promise.all(outcomes)).toEqual([
      'HistoryReplacedError',
      'HistoryReplacedError',
      'WriteInDoubtError',
      'WriteInDoubtError',
    ]);
    expect([client.history.revision, client.history.anchor]).toEqual([1, undefined]);
  });
});

test('restarted or lagging members are not taken for restored ones', async () => {
  etcd = await startEtcd({ members: 3 });
  const { store, events } = open();
  const { collection, names, reports } = follow(store);
  await put(store, 'a');
  for (const member of etcd.members) {
    await member.signal('SIGKILL');
    await put(store, `without ${member.endpoint}`).catch((error: unknown) => {
      expect(error).toBeInstanceOf(StorageUnavailableError);
    });
    await member.start();
  }
  await collection.waitUntilFresh(undefined, within(5_000));
  expect(names()).toHaveLength(4);
  expect(found(events)).toEqual([]);
  expect(reports).toEqual(['loaded']);
});

test('an endpoint of another cluster than the others is not used, and reported', async () => {
  etcd = await startEtcd({ members: 3 });
  const stranger = await startEtcd();
  closings.push(() => stranger.stop());
  const theirs = openStore(stranger.endpoints);
  closings.push(() => theirs.client.close());
  const { store, events } = open([...etcd.endpoints, ...stranger.endpoints]);
  await put(store, 'a');
  // The others are found silent first, and then the one that is left is tried.
  await Promise.all(etcd.members.map((member) => member.signal('SIGSTOP')));
  await until('the stranger to be tried', async () => {
    await store.get('/r/a', within(3_000)).catch(() => {});
    return events.some(({ type }) => type === 'foreign member') || undefined;
  });
  await Promise.all(etcd.members.map((member) => member.signal('SIGCONT')));
  await until('the others to serve', () =>
    store.get('/r/a', within(2_000)).then(
      ({ stored }) => stored,
      () => undefined,
    ),
  );
  expect(found(events)).toEqual([]);
  expect((await theirs.store.list({ prefix: '/r/' }, within(2_000))).entries).toEqual([]);
});
