import { expect, test } from '@jest/globals';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { call, collectionsOf, contents, descriptorOf, type Item, useWatchCache } from '../../test/use-watch-cache.ts';
import {
  CollectionDetachedError,
  CollectionSuspendedError,
  CorruptValueError,
  KeyUnavailableError,
  RevisionReplacedError,
  StorageUnavailableError,
} from '../errors.ts';
import { revision } from '../revision.ts';
import type { Entry, FollowedStore } from '../store.ts';
import type { Collection } from './collection.ts';

const cached = useWatchCache();

/** A store whose lists wait until they are let through. */
function withHeldLists(): { store: FollowedStore; held: (() => void)[] } {
  const held: (() => void)[] = [];
  const list: FollowedStore['list'] = async (...args) => {
    const page = await cached.memory.list(...args);
    await new Promise<void>((resolve) => held.push(resolve));
    return page;
  };
  return { store: { ...cached.memory, list }, held };
}

test('a collection that is attached has everything that was written before, and then all changes', async () => {
  const cache = cached.open();
  await cache.firstLoad;
  await cached.put('/r/c/1', 'one');
  const c = await cache.attach(descriptorOf('/r/c/'));
  expect(await contents(c)).toEqual(['1=one']);
  const changes: string[] = [];
  c.subscribe({ onChange: ({ key }) => changes.push(key), onReset: () => changes.push('reset') });
  await cached.put('/r/c/2', 'two');
  await c.waitUntilFresh(undefined, call);
  expect(await contents(c)).toEqual(['1=one', '2=two']);
  expect(changes).toEqual(['2']);
  expect(c.changesAfter(c.currentRevision)).toEqual([]);
});

test('changes while it is loaded are neither lost nor older than the list, and the others do not wait', async () => {
  const { store, held } = withHeldLists();
  const cache = cached.open({ store });
  await untilTurned(() => held.length === 2);
  for (const pass of held.splice(0)) pass();
  await cache.firstLoad;
  const [a] = collectionsOf(cache);
  for (const name of ['changed', 'removed', 'kept']) await cached.put(`/r/c/${name}`, 'old');
  const attaching = cache.attach(descriptorOf('/r/c/'));
  await untilTurned(() => held.length === 1);
  for (let n = 0; n < 300; n++) await cached.put('/r/c/changed', `new ${n}`);
  await cached.remove('/r/c/removed');
  await cached.put('/r/c/added');
  await cached.put('/r/a/1');
  await a.waitUntilFresh(undefined, call);
  expect(a.get('1')).toBeDefined();
  for (const pass of held.splice(0)) pass();
  const c = await attaching;
  expect(await contents(c)).toEqual(['added=/r/c/added', 'changed=new 299', 'kept=old']);
});

test('it is attached before the first load, during it, and while the watch is lost', async () => {
  const { store, held } = withHeldLists();
  await cached.put('/r/c/1', 'one');
  await cached.put('/r/d/1', 'two');
  const cache = cached.open({ store });
  const attaching = [cache.attach(descriptorOf('/r/c/'))];
  await untilTurned(() => held.length === 3);
  attaching.push(cache.attach(descriptorOf('/r/d/')));
  const passing = setInterval(() => held.splice(0).forEach((pass) => pass()), 1);
  const [c, d] = await Promise.all(attaching);
  cached.memory.restore(await cached.memory.readLatestRevision(call));
  const e = await cache.attach(descriptorOf('/r/e/'));
  clearInterval(passing);
  await cached.put('/r/e/1', 'three');
  for (const one of [c, d, e]) await one?.waitUntilFresh(undefined, call);
  expect(await Promise.all([c, d, e].map((one) => contents(one as Collection<Item>)))).toEqual([
    ['1=one'],
    ['1=two'],
    ['1=three'],
  ]);
});

test('a collection that is attached after a restore refuses revisions from before it, too', async () => {
  const cache = cached.open();
  await cache.firstLoad;
  const kept = await cached.put('/r/c/1', 'one');
  const lost = await cached.put('/r/c/1', 'two');
  cached.memory.restore(kept);
  const c = await cache.attach(descriptorOf('/r/c/'));
  await c.waitUntilFresh(undefined, call);
  await expect(c.requirePresentHistory(revision(kept - 1), call)).rejects.toThrow(RevisionReplacedError);
  await expect(c.requirePresentHistory(lost, call)).rejects.toThrow(RevisionReplacedError);
  await c.requirePresentHistory(kept, call);
});

test('a collection that is detached serves nothing, resets its subscribers once more, and can be attached again', async () => {
  const cache = cached.open();
  await cache.firstLoad;
  await cached.put('/r/c/1', 'one');
  const c = await cache.attach(descriptorOf('/r/c/'));
  let resets = 0;
  c.subscribe({ onChange: () => {}, onReset: () => resets++ });
  cache.detach('/r/c/');
  expect(resets).toBe(1);
  expect(c.isDetached).toBe(true);
  expect(() => c.get('1')).toThrow(CollectionDetachedError);
  expect(() => c.view()).toThrow(StorageUnavailableError);
  await cached.put('/r/c/2', 'two');
  const again = await cache.attach(descriptorOf('/r/c/'));
  expect(await contents(again)).toEqual(['1=one', '2=two']);
  expect(c.isDetached).toBe(true);
  expect(resets).toBe(1);
});

test('attaching fails if the collection is detached before it is loaded', async () => {
  const { store, held } = withHeldLists();
  const cache = cached.open({ store });
  await untilTurned(() => held.length === 2);
  for (const pass of held.splice(0)) pass();
  await cache.firstLoad;
  const attaching = cache.attach(descriptorOf('/r/c/'));
  await untilTurned(() => held.length === 1);
  cache.detach('/r/c/');
  await expect(attaching).rejects.toThrow(CollectionDetachedError);
  for (const pass of held.splice(0)) pass();
});

test('a collection of a store that cannot be read is attached if wanted, and refuses everything until it is loaded', async () => {
  await cached.put('/r/c/1', 'one');
  let isLost = true;
  const readLatestRevision: FollowedStore['readLatestRevision'] = async (...args) => {
    if (isLost) throw new StorageUnavailableError('etcd has no quorum');
    return cached.memory.readLatestRevision(...args);
  };
  const cache = cached.open({ store: { ...cached.memory, readLatestRevision } });
  let isLoaded = false;
  const loaded = cache.attach(descriptorOf('/r/d/')).then(() => (isLoaded = true));
  const c = await cache.attach(descriptorOf('/r/c/'), { orLost: true });
  for (const read of [() => c.get('1'), () => c.view(), () => c.requireServed()])
    expect(read).toThrow(StorageUnavailableError);
  expect([c.isReady, c.isSuspended, isLoaded]).toEqual([false, false, false]);
  isLost = false;
  await loaded;
  expect(await contents(c)).toEqual(['1=one']);
  expect(c.get('1')).toBeDefined();
});

test('a collection whose keys are unavailable is attached when they are there', async () => {
  let hasKeys = false;
  const list: FollowedStore['list'] = async (...args) => {
    const { entries, ...page } = await cached.memory.list(...args);
    const unreadable = (entry: Entry): Entry => ({
      key: entry.key,
      revision: entry.revision,
      unreadable: new CorruptValueError([entry.key], { cause: new KeyUnavailableError('no key') }),
    });
    return { ...page, entries: hasKeys ? entries : entries.map(unreadable) };
  };
  await cached.put('/r/a/1');
  await cached.put('/r/c/1', 'one');
  const cache = cached.open({ store: { ...cached.memory, list } });
  await cache.firstLoad;
  const [a, b] = collectionsOf(cache);
  expect(() => a.get('1')).toThrow(CollectionSuspendedError);
  expect(a.isSuspended).toBe(true);
  expect(b.get('1')).toBeUndefined();
  const attaching = cache.attach(descriptorOf('/r/c/'));
  await untilTurned(() => cached.reports.filter(({ type }) => type === 'suspended').length === 2);
  hasKeys = true;
  cache.retryUnreadable();
  expect(await contents(await attaching)).toEqual(['1=one']);
  await untilTurned(() => a.isReady);
  expect(a.get('1')?.text).toBe('/r/a/1');
});

test('collections whose objects would be taken for each other cannot be attached', async () => {
  const cache = cached.open();
  for (const prefix of ['/r/a/', '/r/a/b/', '/r/', '/r/c'])
    await expect(cache.attach(descriptorOf(prefix))).rejects.toThrow();
  const nested = await cache.attach(descriptorOf('/r/group/kinds/'));
  const sibling = await cache.attach(descriptorOf('/r/group/kind/'));
  await cached.put('/r/group/kinds/1', 'one');
  await cached.put('/r/group/other/1', 'two');
  await nested.waitUntilFresh(undefined, call);
  expect([await contents(nested), await contents(sibling)]).toEqual([['1=one'], []]);
});

test('a thousand rounds of attaching and detaching leave nothing in memory', async () => {
  const cache = cached.open();
  await cache.firstLoad;
  for (let n = 0; n < 20; n++) await cached.put(`/r/c/${n}`, 'x'.repeat(1_000));
  const round = async (): Promise<void> => {
    const c = await cache.attach(descriptorOf('/r/c/'));
    c.subscribe({ onChange: () => {}, onReset: () => {} });
    cache.detach('/r/c/');
  };
  for (let n = 0; n < 200; n++) await round();
  const before = usedHeapBytes();
  for (let n = 0; n < 1_000; n++) await round();
  // Each of them left would take as much as its collection: some 50 KB.
  expect(usedHeapBytes() - before).toBeLessThan(2_000_000);
});
