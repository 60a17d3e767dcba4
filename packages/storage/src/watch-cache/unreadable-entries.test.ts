import { expect, test } from '@jest/globals';
import { requireValue, systemClock } from '@cluster-apiserver/base';
import { until, untilSteady, untilTurned } from '@cluster-apiserver/testkit/until';
import { call, descriptorOf, type Item, useWatchCache } from '../../test/use-watch-cache.ts';
import { CorruptValueError, KeyUnavailableError } from '../errors.ts';
import { EntryReader } from '../etcd/values.ts';
import type { Entry, Store, UnreadableEntry } from '../store.ts';
import type { Transformed, UsableKeys } from '../transform/transformer.ts';
import type { CollectionDescriptor } from './collection-descriptor.ts';
import { UnreadableEntries } from './unreadable-entries.ts';

const cached = useWatchCache();

/** Items that show whether their value can be read. */
const itemsWithState: CollectionDescriptor<Item> = {
  ...descriptorOf('/r/a/'),
  read: (entry, key) => ({ key, revision: entry.revision, weight: 1, text: stateOf(entry) }),
};
const stateOf = (entry: Entry): string => {
  if (!entry.unreadable) return entry.value.toString();
  return entry.unreadable.isPermanent ? 'refused' : 'unavailable';
};
const refusal = (entry: Entry, cause: Error): UnreadableEntry => ({
  key: entry.key,
  revision: entry.revision,
  unreadable: new CorruptValueError([entry.key], { cause }),
  retry: async () => retryResult(entry),
});
const unavailable = (entry: Entry): UnreadableEntry => refusal(entry, new KeyUnavailableError('no key'));
const refused = (entry: Entry): UnreadableEntry => refusal(entry, new Error('the plugin refuses it'));
let retryResult: (entry: Entry) => Entry;
/** Ends the decryptions that have begun, in order. */
let decryptions: ((result: (entry: Entry) => Entry) => void)[];

/** A cache of a store that defers every value of its watch. */
async function openDeferring() {
  retryResult = unavailable;
  decryptions = [];
  const defer = (entry: Entry): Entry => ({
    ...unavailable(entry),
    pending: new Promise<Entry>((resolve) => decryptions.push((result) => resolve(result(entry)))),
  });
  const store: Store = {
    ...cached.memory,
    watch: async function* (...args) {
      for await (const { changes, ...set } of cached.memory.watch(...args))
        yield { ...set, changes: changes.map((one) => ({ ...one, current: one.current && defer(one.current) })) };
    },
  };
  const cache = cached.open({ store, collections: [itemsWithState] });
  await cache.firstLoad;
  const collection = requireValue(cache.collections[0]);
  let resets = 0;
  collection.subscribe({ onChange: () => {}, onReset: () => resets++ });
  const begin = collection.currentRevision;
  return {
    cache,
    state: () => collection.get('1')?.text,
    window: () => collection.changesAfter(begin)?.map(({ current }) => current?.text),
    resets: () => resets,
    put: async (text: string) => {
      await cached.put('/r/a/1', text);
      await collection.waitUntilFresh(undefined, call);
    },
  };
}
/** Long enough for a step that has to wait for its slice. */
const settle = async (): Promise<void> => {
  for (let iterations = 0; iterations < 10; iterations++) await new Promise(setImmediate);
};

test('a value whose decryption takes long can still be refused for good, and subscribers are reset', async () => {
  const { state, window, resets, put } = await openDeferring();
  await put('one');
  expect(state()).toBe('unavailable');
  decryptions[0]?.(refused);
  await settle();
  expect([state(), window(), resets()]).toEqual(['refused', ['refused'], 1]);
});

test('a value is refused for good by a retry, and read by a later one', async () => {
  const { cache, state, resets, put } = await openDeferring();
  await put('one');
  decryptions[0]?.(unavailable);
  cache.retryUnreadable();
  await settle();
  expect([state(), resets()]).toEqual(['unavailable', 0]);
  for (const [result, expected] of [
    [refused, 'refused'],
    [unavailable, 'unavailable'],
    [(entry: Entry) => entry, 'one'],
  ] as const) {
    const before = resets();
    retryResult = result;
    cache.retryUnreadable();
    await settle();
    expect(state()).toBe(expected);
    await untilTurned(() => resets() > before);
  }
  expect(resets()).toBe(3);
});

test('a value stays readable if a retry was faster than a decryption that fails', async () => {
  const { cache, state, window, put } = await openDeferring();
  await put('one');
  retryResult = (entry) => entry;
  cache.retryUnreadable();
  await settle();
  decryptions[0]?.(refused);
  await settle();
  expect([state(), window()]).toEqual(['one', ['one']]);
});

test('a value is refused in the change that created it if it was replaced meanwhile', async () => {
  const { state, window, resets, put } = await openDeferring();
  await put('one');
  await put('two');
  decryptions[0]?.(refused);
  await settle();
  expect([state(), window(), resets()]).toEqual(['unavailable', ['refused', 'unavailable'], 1]);
});

test('a decryption that continues is forgotten with its history', async () => {
  const { cache, state, resets, put } = await openDeferring();
  const before = cache.currentRevision;
  await put('one');
  cached.memory.restore(before);
  await untilTurned(() => cache.isSynced);
  const resetsBefore = resets();
  decryptions[0]?.((entry) => entry);
  await settle();
  expect([state(), resets()]).toEqual([undefined, resetsBefore]);
});

test.each([
  { recovery: 'with a recovery of the plugin', recovers: true, expected: ['pending', 'postponed', 'refused'] },
  { recovery: 'without one', recovers: false, expected: [] },
])('after a load $recovery the values $expected are retried', async ({ recovers, expected }) => {
  const retried: string[] = [];
  const variants: Readonly<Record<string, Partial<UnreadableEntry>>> = {
    refused: {},
    pending: { pending: new Promise(() => {}) },
    postponed: { postponed: new Promise(() => {}) },
  };
  for (const name of Object.keys(variants)) await cached.put(`/r/a/${name}`, name);
  const list: Store['list'] = async (...args) => {
    const { entries, ...page } = await cached.memory.list(...args);
    if (recovers) cache.retryUnreadable();
    const unreadable = entries.map((entry): Entry => {
      const retry = async (): Promise<Entry> => {
        retried.push(stateOf(entry));
        return entry;
      };
      return { ...unavailable(entry), ...variants[stateOf(entry)], retry };
    });
    return { ...page, entries: unreadable };
  };
  const cache = cached.open({ store: { ...cached.memory, list }, collections: [itemsWithState] });
  await cache.firstLoad;
  await settle();
  expect(retried.toSorted()).toEqual(expected);
});

test('values whose key takes long do not delay the retry of the others', async () => {
  let hasRecovered = false;
  const unavailable = (): Promise<never> => Promise.reject(new KeyUnavailableError('no key'));
  const fromStorage = (value: Buffer, key: string): Promise<Transformed> => {
    if (!hasRecovered) return unavailable();
    return key.startsWith('/r/slow/') ? new Promise(() => {}) : Promise.resolve({ value, stale: false });
  };
  const reader = new EntryReader({ toStorage: (value) => [value], fromStorage }, systemClock, '/r/'.length);
  const resolved: string[] = [];
  const entries = new UnreadableEntries(({ key }) => resolved.push(key), systemClock);
  const slow = Array.from({ length: 100 }, (_, n) => `/r/slow/${n}`);
  for (const key of [...slow, '/r/quick/1']) {
    const value = { key, value: Buffer.from('x'), createRevision: 1, modRevision: 1, lease: 0 };
    entries.set(key, await reader.read(value, 10));
  }
  hasRecovered = true;
  entries.retry();
  await until('the other value to be read', () => resolved.length > 0 || undefined, 2_000);
  expect(resolved).toEqual(['/r/quick/1']);
});

test('postponed values are retried as long as keys are provided, and not all of them each time that a plugin times out', async () => {
  let tries = 0;
  let key = Promise.withResolvers<void>();
  const fromStorage = async (value: Buffer, _: string, __: unknown, keys?: UsableKeys): Promise<Transformed> => {
    tries++;
    if (keys === 'cached') throw new KeyUnavailableError('too many values wait');
    await key.promise;
    return { value, stale: false };
  };
  const reader = new EntryReader({ toStorage: (value) => [value], fromStorage }, systemClock, '/r/'.length);
  const resolved = new Set<string>();
  const entries = new UnreadableEntries((entry) => void resolved.add(entry.key), systemClock);
  for (let from = 0; from < 10_000; from += 2_000) {
    const keys = Array.from({ length: 2_000 }, (_, n) => `/r/a/${from + n}`);
    const read = keys.map(async (name) =>
      reader.read({ key: name, value: Buffer.from('x'), createRevision: 1, modRevision: 1, lease: 0 }, 10),
    );
    // The first ones wait for the key.
    for (const entry of await Promise.all(read)) entries.set(entry.key, entry);
  }
  for (let timeouts = 0; timeouts < 3; timeouts++) {
    tries = 0;
    const { reject } = key;
    key = Promise.withResolvers();
    reject(new KeyUnavailableError('timed out'));
    await untilSteady(() => tries);
    expect(tries).toBeGreaterThanOrEqual(2_000);
    expect(tries).toBeLessThan(2_200);
  }
  expect(resolved.size).toBe(0);
  key.resolve();
  // Those that were refused are retried when the plugin has recovered.
  await until('the others to be read', () => resolved.size > 3_500 || undefined);
  entries.retry();
  await until('all to be read', () => resolved.size === 10_000 || undefined);
});

test('values that are retried together are not all decrypted in one turn of the event loop', async () => {
  let decrypted = 0;
  let hasKey = false;
  const fromStorage = (value: Buffer): Transformed => {
    if (!hasKey) throw new KeyUnavailableError('no key');
    decrypted++;
    return { value, stale: false };
  };
  const reader = new EntryReader({ toStorage: (value) => [value], fromStorage }, systemClock, '/r/'.length);
  const value = { key: '/r/a/1', value: Buffer.from('x'), createRevision: 1, modRevision: 1, lease: 0 };
  const entries = await Promise.all(Array.from({ length: 1_000 }, async () => reader.read(value, 10)));
  hasKey = true;
  const retries = entries.map(async (entry) => (entry.unreadable ? entry.retry() : entry));
  let perTurnMax = 0;
  while (decrypted < entries.length) {
    const before = decrypted;
    await new Promise(setImmediate);
    perTurnMax = Math.max(perTurnMax, decrypted - before);
  }
  await Promise.all(retries);
  expect(perTurnMax).toBeGreaterThan(0);
  expect(perTurnMax).toBeLessThan(100);
});
