import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { requireValue, seededRandom, systemClock } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { type OpenedStore, openStore, within } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { KeyUnavailableError, StorageUnavailableError } from '../errors.ts';
import type { Call, Entry } from '../store.ts';
import { identity, type Transformed, type Transformer } from '../transform/transformer.ts';
import type { CacheItem, CollectionDescriptor } from '../watch-cache/collection-descriptor.ts';
import { openWatchCache, type WatchCache } from '../watch-cache/watch-cache.ts';

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
  cache = openWatchCache({
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

test('values with slow keys delay no others, are unreadable meanwhile, and are delivered later', async () => {
  const plugin = Promise.withResolvers<void>();
  answers = plugin.promise;
  const begin = quick()?.currentRevision;
  if (begin === undefined) throw new Error('there are two forms');
  for (let n = 0; n < 50; n++) await put(`${underKms}${n}`);
  await put('/quick/a');
  await caughtUp();
  expect(quick()?.get('a')?.text).toBe('/quick/a');
  expect(slow()?.get('7')?.text).toBe('?');
  let interruptions = 0;
  slow()?.subscribe({ onChange: () => {}, onReset: () => interruptions++ });
  plugin.resolve();
  await until('all to be read', () => slow()?.get('49')?.text !== '?' || undefined);
  await until(
    'each to be read',
    () =>
      slow()
        ?.changesAfter(begin)
        ?.every(({ current }) => current?.text !== '?') || undefined,
  );
  expect(
    slow()
      ?.changesAfter(begin)
      ?.map(({ current }) => current?.text),
  ).toEqual(Array.from({ length: 50 }, (_, n) => `${underKms}${n}`));
  // Those that become readable together interrupt together.
  await until('an interruption', () => interruptions > 0 || undefined);
  expect(interruptions).toBeLessThan(25);
  expect(reports).toEqual(['loaded']);
});

test('a list of the past waits only for the slow keys that it is asked for, and not beyond its deadline', async () => {
  const plugin = Promise.withResolvers<void>();
  await put(`${underKms}a`);
  answersOf = (key) => (key.endsWith('/b') ? plugin.promise : answers);
  const at = await put(`${underKms}b`);
  const list = (timeoutMs: number) => slow()?.listFromStore({ within: '' }, at, within(timeoutMs));
  const page = requireValue(await list(60_000), 'there are two forms');
  expect(page.items.map(({ text }) => text)).toEqual([`${underKms}a`, '?']);
  const impatient = requireValue(await list(500), 'there are two forms');
  await expect(impatient.completeItem('b')).rejects.toThrow(KeyUnavailableError);
  expect(page.completeItem('a')).toBeUndefined();
  const completed = page.completeItem('b');
  plugin.resolve();
  expect((await completed)?.text).toBe(`${underKms}b`);
});

test('only values with unavailable keys are read again when the keys are back', async () => {
  fails = true;
  await put(`${underKms}a`);
  await put('/quick/a');
  await caughtUp();
  expect(slow()?.get('a')?.text).toBe('?');
  await put(`${underKms}b`);
  await caughtUp();
  asked = [];
  cache.retryUnreadable();
  await until('both to be tried', () => asked.length === 2 || undefined);
  fails = false;
  cache.retryUnreadable();
  await until('both to be read', () => (slow()?.get('a')?.text !== '?' && slow()?.get('b')?.text !== '?') || undefined);
  asked = [];
  cache.retryUnreadable();
  await caughtUp();
  expect(asked).toEqual([]);
  expect(reports).toEqual(['loaded']);
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
  await until(
    'all to be read',
    () =>
      slow()
        ?.changesAfter(begin)
        ?.every(({ current }) => current?.text !== '?') || undefined,
  );
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

test('in a catch-up, a slow key delays only the readers that cover it, and is not skipped', async () => {
  const begin = requireValue(slow()).currentRevision;
  const plugin = Promise.withResolvers<void>();
  const created = await put(`${underKms}a/hanging`, 'old');
  await caughtUp();
  answersOf = (key) => (key.startsWith(`${underKms}a/`) ? plugin.promise : Promise.resolve());
  await theirs.store.update(`${underKms}a/hanging`, Buffer.from('new'), created, {}, within(5_000));
  await put(`${underKms}b/quick`);
  await caughtUp();
  const readOf = (namespace: string): { texts: string[]; step: () => boolean } => {
    const texts: string[] = [];
    const covers = (key: string): boolean => key.startsWith(namespace);
    let sent = begin;
    const reader = requireValue(slow()).openCatchUp(sent, { covers, notify: () => {} });
    return {
      texts,
      step: () => {
        const read = reader.take(sent, 100);
        if (read === 'refused') throw new Error('the reader was refused');
        sent = read?.revision ?? sent;
        for (const { key, previous, current } of read?.changes ?? [])
          if (covers(key)) texts.push(`${previous?.text ?? '-'} to ${current?.text ?? '-'}`);
        if (sent >= requireValue(slow()).currentRevision) reader.close();
        return sent >= requireValue(slow()).currentRevision;
      },
    };
  };
  const [a, b] = [readOf('a/'), readOf('b/')];
  await until('the reader of b to arrive', () => {
    a.step();
    return b.step() || undefined;
  });
  expect(b.texts).toEqual([`- to ${underKms}b/quick`]);
  expect(a.texts).toEqual([]);
  plugin.resolve();
  await until('the reader of a to arrive', () => a.step() || undefined);
  expect(a.texts).toEqual(['- to old', 'old to new']);
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
