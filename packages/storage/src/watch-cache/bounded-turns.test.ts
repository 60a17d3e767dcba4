import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type SyncTask, systemClock } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { call, descriptorOf, type Item, useWatchCache } from '../../test/use-watch-cache.ts';
import { CollectionSuspendedError, CorruptValueError, KeyUnavailableError } from '../errors.ts';
import type { Revision } from '../revision.ts';
import type { Entry, FollowedStore } from '../store.ts';
import type { Collection } from './collection.ts';

const cached = useWatchCache();

describe('with any number of objects and changes, one event-loop iteration does a bounded part of the work', () => {
  const stepMs = 0.1;
  /** Some of 4 ms: those of the watch or list, and those of what readers asked for. */
  const stepsPerTurnMax = 100;
  let stepsMax: number;
  let retryUnreadable: () => void;
  /** Takes time. */
  let work: () => void;
  /** How many steps are made of each entry before it is read. */
  let stepsBefore: number;
  function* prepare(): SyncTask<void> {
    for (let step = 0; step < stepsBefore; step++) {
      work();
      yield;
    }
  }

  /** Only decoding an object takes time. */
  async function open(store: FollowedStore = cached.memory): Promise<Collection<Item>> {
    let ms = 0;
    let steps = 0;
    work = () => {
      ms += stepMs;
      if (steps++ === 0)
        setImmediate(() => {
          stepsMax = Math.max(stepsMax, steps);
          steps = 0;
        });
    };
    const plain = descriptorOf('/r/a/');
    const cache = cached.open({
      store,
      collections: [
        {
          ...plain,
          prepare: () => (stepsBefore > 0 ? prepare() : undefined),
          read: (...entry) => {
            work();
            return plain.read(...entry);
          },
          termsOf: (item) => {
            work();
            return plain.termsOf(item);
          },
        },
      ],
      clock: { ...systemClock, monotonicMs: () => ms },
    });
    retryUnreadable = () => cache.retryUnreadable();
    await cache.firstLoad;
    await new Promise(setImmediate);
    return cache.collections[0] as Collection<Item>;
  }
  const create = async (count: number, first = 0): Promise<void> => {
    for (let n = first; n < first + count; n++) await cached.memory.create(`/r/a/${n}`, Buffer.from(`${n}`), {}, call);
  };

  beforeEach(() => {
    stepsMax = 0;
    stepsBefore = 0;
  });

  test('of a load', async () => {
    await create(3_000);
    cached.memory.compact(await cached.memory.readLatestRevision(call));
    const a = await open();
    expect(a.view().items.size).toBe(3_000);
    expect(a.view().terms.size).toBe(3_000);
    const terms: string[] = [];
    a.view().terms.visit('', ({ key }) => terms.push(key) > 0);
    expect(terms).toEqual(terms.toSorted());
    expect(stepsMax).toBeGreaterThan(20);
    expect(stepsMax).toBeLessThan(stepsPerTurnMax);
  });

  test('of large objects, in a load, in changes and in past states', async () => {
    stepsBefore = 500;
    await create(3);
    cached.memory.compact(await cached.memory.readLatestRevision(call));
    const a = await open();
    await create(3, 3);
    const past = await cached.memory.readLatestRevision(call);
    await a.waitUntilFresh(undefined, call);
    expect(a.view().items.size).toBe(6);
    expect((await a.listFromStore({ within: '' }, past, call)).items).toHaveLength(6);
    expect(stepsMax).toBeGreaterThan(20);
    expect(stepsMax).toBeLessThan(2 * stepsPerTurnMax);
  });

  test('of the growth of its maps', async () => {
    await create(3_000);
    const set = jest.spyOn(Map.prototype, 'set');
    await open();
    const used = new Set([...set.mock.contexts] as Map<unknown, unknown>[]);
    set.mockRestore();
    // The store of this test has maps of whole keys.
    const maps = [...used].filter((map) => ![...map.keys()].some((key) => String(key).startsWith('/r/a/')));
    expect(maps.length).toBeGreaterThan(20);
    expect(Math.max(...maps.map(({ size }) => size))).toBeLessThan(300);
  });

  test('of changes that arrive together', async () => {
    await create(3_000);
    const a = await open();
    await a.waitUntilFresh(undefined, call);
    expect(a.view().items.size).toBe(3_000);
    expect(stepsMax).toBeGreaterThan(20);
    expect(stepsMax).toBeLessThan(stepsPerTurnMax);
  });

  test('of reads of past states, from memory and from the store', async () => {
    const a = await open();
    const at: Revision[] = [];
    for (let n = 0; n < 3; n++) {
      await create(1_000, n * 1_000);
      at.push(await cached.memory.readLatestRevision(call));
      await a.waitUntilFresh(undefined, call);
    }
    await new Promise(setImmediate);
    stepsMax = 0;
    expect(await Promise.all(at.map(async (past) => (await a.viewAt(past))?.items.size))).toEqual([
      1_000, 2_000, 3_000,
    ]);
    const reads = at.map(async (past) => (await a.listFromStore({ within: '' }, past, call)).items.length);
    expect(await Promise.all(reads)).toEqual([1_000, 2_000, 3_000]);
    await new Promise(setImmediate);
    expect(stepsMax).toBeGreaterThan(20);
    expect(stepsMax).toBeLessThan(2 * stepsPerTurnMax);
  });

  /** A store whose values are unreadable at present. */
  function withoutKeys(): { store: FollowedStore; recover: () => void } {
    let hasKeys = false;
    const seen = (entry: Entry): Entry =>
      hasKeys
        ? entry
        : {
            key: entry.key,
            revision: entry.revision,
            unreadable: new CorruptValueError([entry.key], { cause: new KeyUnavailableError('no key') }),
          };
    const list: FollowedStore['list'] = async (...args) => {
      const { entries, ...page } = await cached.memory.list(...args);
      return { ...page, entries: entries.map(seen) };
    };
    return { store: { ...cached.memory, list }, recover: () => (hasKeys = true) };
  }

  test('of the load of a collection whose key is available again, and of the changes meanwhile', async () => {
    await create(3_000);
    cached.memory.compact(await cached.memory.readLatestRevision(call));
    const { store, recover } = withoutKeys();
    const listed = Promise.withResolvers<void>();
    const list: FollowedStore['list'] = async (...args) => {
      const page = await store.list(...args);
      await listed.promise;
      return page;
    };
    const opening = open({ ...store, list });
    listed.resolve();
    const a = await opening;
    expect(() => a.view()).toThrow(CollectionSuspendedError);
    stepsMax = 0;
    let resets = 0;
    a.subscribe({ onChange: () => {}, onReset: () => resets++ });
    recover();
    retryUnreadable();
    await create(1_000, 3_000);
    await until('all to be readable', () => (a.isReady && a.view().items.size === 4_000) || undefined);
    await new Promise(setImmediate);
    expect(stepsMax).toBeGreaterThan(20);
    expect(stepsMax).toBeLessThan(stepsPerTurnMax);
    expect(resets).toBe(1);
  });

  test('of a reader of the history', async () => {
    const a = await open();
    const begin = a.currentRevision;
    await create(3_000);
    await a.waitUntilFresh(undefined, call);
    await new Promise(setImmediate);
    stepsMax = 0;
    let wake = (): void => {};
    const reader = a.readHistory(begin, '', () => wake());
    let taken = 0;
    for (let sent = begin; taken < 3_000; ) {
      const changes = reader.take(sent, 100);
      if (!changes) await new Promise<void>((resolve) => (wake = resolve));
      if (!changes) continue;
      taken += changes.changes.length;
      sent = changes.revision;
    }
    reader.close();
    await new Promise(setImmediate);
    expect(stepsMax).toBeGreaterThan(20);
    expect(stepsMax).toBeLessThan(stepsPerTurnMax);
  });
});
