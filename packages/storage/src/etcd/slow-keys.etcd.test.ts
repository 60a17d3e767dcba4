import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { requireValue, seededRandom, systemClock } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { type OpenedStore, openStore, within } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { CollectionSuspendedError, KeyUnavailableError, StorageUnavailableError } from '../errors.ts';
import type { Call, Entry } from '../store.ts';
import { identity, type Transformed, type Transformer } from '../transform/transformer.ts';
import type { CacheItem, CollectionDescriptor } from '../watch-cache/collection-descriptor.ts';
import { WatchCache } from '../watch-cache/watch-cache.ts';

/** As if a key management plugin kept the keys of one resource, and hung. */
const underKms = '/slow/';

interface Item extends CacheItem {
  readonly text: string;
}

const textOf = (entry: Entry): string => (entry.unreadable ? '?' : entry.value.toString());
const form = (prefix: string): CollectionDescriptor<Item> => ({
  prefix,
  read: (entry, key) => ({ key, revision: entry.revision, weight: 100, text: textOf(entry) }),
  termsOf: () => [],
});

let etcd: RealEtcd;
let theirs: OpenedStore;
let ours: OpenedStore;
let cache: WatchCache<Item>;
let answers: Promise<void>;
let answersOf: (key: string) => Promise<void>;
let fails: boolean;
let asked: string[];
let reports: string[];
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());
beforeEach(async () => {
  answers = Promise.resolve();
  answersOf = () => answers;
  fails = false;
  asked = [];
  reports = [];
  theirs = openStore(etcd.endpoints);
  const transformer: Transformer = {
    toStorage: async (value, key) => {
      if (key.startsWith(underKms)) await answers;
      return identity.toStorage(value, key);
    },
    fromStorage: (value, key) => {
      if (!key.startsWith(underKms)) return identity.fromStorage(value, key);
      asked.push(key);
      return answersOf(key).then((): Transformed => {
        if (fails) throw new KeyUnavailableError('the plugin does not answer');
        return identity.fromStorage(value, key);
      });
    },
  };
  ours = openStore(etcd.endpoints, { transformer });
  cache = new WatchCache({
    store: ours.store,
    prefix: '/',
    collections: [form(underKms), form('/quick/')],
    clock: systemClock,
    random: seededRandom(1),
    report: ({ type }) => reports.push(type),
  });
  await cache.firstLoad;
});
afterEach(async () => {
  await cache.close();
  ours.client.close();
  const { entries } = await theirs.store.list({ prefix: '/' }, within(5_000));
  for (const { key, revision } of entries) await theirs.store.delete(key, revision, within(5_000)).catch(() => {});
  theirs.client.close();
});

const put = (key: string, text = key) => theirs.store.create(key, Buffer.from(text), {}, within(5_000));
const [slow, quick] = [() => cache.collections[0], () => cache.collections[1]] as const;
const caughtUp = () => quick()?.waitUntilFresh(undefined, within(5_000));

const isServed = () => slow()?.isReady || undefined;

test('a key that takes long suspends its collection, delays no others for long, and then everything is there', async () => {
  const plugin = Promise.withResolvers<void>();
  let resets = 0;
  slow()?.subscribe({ onChange: () => {}, onReset: () => resets++ });
  await put(`${underKms}before`);
  await caughtUp();
  answers = plugin.promise;
  for (let n = 0; n < 50; n++) await put(`${underKms}${n}`);
  await put('/quick/a');
  await caughtUp();
  expect(quick()?.get('a')?.text).toBe('/quick/a');
  expect(() => slow()?.get('before')).toThrow(CollectionSuspendedError);
  expect(() => slow()?.view()).toThrow(`${underKms}0`);
  expect(resets).toBe(1);
  // Its values are not even tried.
  expect(asked.length).toBeLessThan(60);
  plugin.resolve();
  cache.retryUnreadable();
  await until('the collection', isServed);
  for (const name of ['before', '0', '49']) expect(slow()?.get(name)?.text).toBe(`${underKms}${name}`);
  expect(slow()?.view().items.size).toBe(51);
  expect(resets).toBe(2);
  expect(reports).toEqual(['loaded', 'suspended', 'collection loaded']);
});

test('a plugin that is slow but never fails is tried again unasked', async () => {
  const plugin = Promise.withResolvers<void>();
  answers = plugin.promise;
  await put(`${underKms}a`);
  await until('the suspension', () => reports.includes('suspended') || undefined);
  plugin.resolve();
  await until('the collection', isServed);
  expect(slow()?.get('a')?.text).toBe(`${underKms}a`);
});

test('changes that arrive while a collection is loaded again are in it', async () => {
  fails = true;
  const created = await put(`${underKms}a`, 'old');
  await put(`${underKms}gone`);
  await caughtUp();
  await until('the suspension', () => reports.includes('suspended') || undefined);
  const plugin = Promise.withResolvers<void>();
  fails = false;
  answers = plugin.promise;
  asked = [];
  cache.retryUnreadable();
  await until('the list', () => asked.length >= 2 || undefined);
  answers = Promise.resolve();
  const { stored } = await theirs.store.get(`${underKms}gone`, within(5_000));
  await theirs.store.update(`${underKms}a`, Buffer.from('new'), created, {}, within(5_000));
  await theirs.store.delete(`${underKms}gone`, requireValue(stored).revision, within(5_000));
  await put(`${underKms}b`, 'more');
  await caughtUp();
  plugin.resolve();
  await until('the collection', isServed);
  expect(slow()?.get('a')?.text).toBe('new');
  expect(slow()?.get('b')?.text).toBe('more');
  expect(slow()?.get('gone')).toBeUndefined();
});

test('a change whose key is missing makes the load of its collection void, and another one follows', async () => {
  fails = true;
  await put(`${underKms}a`);
  await caughtUp();
  await until('the suspension', () => reports.includes('suspended') || undefined);
  fails = false;
  const [listing, hanging] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  answersOf = (key) => (key.endsWith('/a') ? listing.promise : hanging.promise);
  asked = [];
  cache.retryUnreadable();
  await until('the list', () => asked.length > 0 || undefined);
  await put(`${underKms}b`);
  await caughtUp();
  listing.resolve();
  expect(isServed()).toBeUndefined();
  hanging.resolve();
  await until('the collection', isServed);
  for (const name of ['a', 'b']) expect(slow()?.get(name)?.text).toBe(`${underKms}${name}`);
  expect(reports).toEqual(['loaded', 'suspended', 'collection loaded']);
});

test('a list of the past waits for its keys, and not beyond its deadline', async () => {
  const plugin = Promise.withResolvers<void>();
  await put(`${underKms}a`);
  await caughtUp();
  answersOf = (key) => (key.endsWith('/b') ? plugin.promise : answers);
  const at = await put('/quick/b');
  const list = (timeoutMs: number) => slow()?.listFromStore({ within: '' }, at, within(timeoutMs));
  answers = plugin.promise;
  await expect(list(200)).rejects.toThrow(KeyUnavailableError);
  const page = list(60_000);
  plugin.resolve();
  expect((await page)?.items.map(({ text }) => text)).toEqual([`${underKms}a`]);
});

test('only the collection whose keys were unavailable is loaded again when they are back', async () => {
  fails = true;
  await put('/quick/a');
  await put(`${underKms}a`);
  await caughtUp();
  await until('the suspension', () => reports.includes('suspended') || undefined);
  asked = [];
  cache.retryUnreadable();
  await until('another try', () => asked.length > 0 || undefined);
  expect(isServed()).toBeUndefined();
  fails = false;
  cache.retryUnreadable();
  await until('the collection', isServed);
  asked = [];
  cache.retryUnreadable();
  await caughtUp();
  expect(asked).toEqual([]);
  expect([slow(), quick()].map((one) => one?.statistics.initializations)).toEqual([2, 1]);
});

test('changes arrive in order, though the keys of some are slow', async () => {
  const begin = slow()?.currentRevision;
  if (begin === undefined) throw new Error('there are two forms');
  const keys: string[] = [];
  for (let n = 0; n < 300; n++) {
    if (n % 10 === 0) answers = new Promise((resolve) => setTimeout(resolve, 2));
    const key = `${n % 3 === 0 ? '/quick/' : underKms}${n}`;
    keys.push(key);
    await put(key);
  }
  await caughtUp();
  const delivered = [slow(), quick()].flatMap((one) => one?.changesAfter(begin) ?? []);
  const inOrder = delivered.toSorted((one, other) => one.revision - other.revision);
  expect(inOrder.map(({ key }) => key)).toEqual(keys.map((key) => key.slice(key.lastIndexOf('/') + 1)));
});

test('a direct list waits for the key of every value', async () => {
  await put(`${underKms}there`);
  await caughtUp();
  const plugin = Promise.withResolvers<void>();
  answers = plugin.promise;
  const listed = ours.store.list({ prefix: underKms }, within(20_000));
  await until('it to wait', () => asked.length >= 2 || undefined);
  plugin.resolve();
  expect((await listed).entries.map(textOf)).toEqual([`${underKms}there`]);
});

const reaching: { what: string; act: (call: Call) => Promise<unknown> }[] = [
  { what: 'a creation', act: (call) => ours.store.create(`${underKms}new`, Buffer.from('x'), {}, call) },
  { what: 'a list', act: (call) => ours.store.list({ prefix: underKms }, call) },
  { what: 'a reading', act: (call) => ours.store.get(`${underKms}there`, call) },
];

test.each(reaching)('$what does not wait for a key beyond its deadline', async ({ act }) => {
  await put(`${underKms}there`);
  answers = new Promise(() => {});
  await expect(act(within(100))).rejects.toThrow(StorageUnavailableError);
});

test.each(reaching)('$what does not wait for a key after its caller has disconnected', async ({ act }) => {
  await put(`${underKms}there`);
  answers = new Promise(() => {});
  const leaving = new AbortController();
  const acted = act({ ...within(600_000), signal: leaving.signal });
  leaving.abort(new Error('the client left'));
  await expect(acted).rejects.toThrow('the client left');
});
