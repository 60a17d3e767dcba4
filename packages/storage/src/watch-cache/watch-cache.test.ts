import { describe, expect, test } from '@jest/globals';
import { type Call, callUntil, systemClock } from '@cluster-apiserver/base';
import { until, untilTurned } from '@cluster-apiserver/testkit/until';
import { call, collectionsOf, contents, descriptorOf, textOf, useWatchCache } from '../../test/use-watch-cache.ts';
import { CorruptValueError, HistoryReplacedError, RevisionTooLargeError, StorageUnavailableError } from '../errors.ts';
import { revision } from '../revision.ts';
import type { ChangeSet, Entry, FollowedStore } from '../store.ts';

const cached = useWatchCache();
const soon = () => callUntil(systemClock.monotonicMs() + 50);

/** A store whose watches can be held back, and disconnected. */
function disturbed(): FollowedStore & { hold(): () => void; cut(error: Error): void } {
  let held: Promise<void> | undefined;
  let cuts: ((error: Error) => void)[] = [];
  async function* watch(...args: Parameters<FollowedStore['watch']>): AsyncGenerator<ChangeSet> {
    const { promise: severed, reject } = Promise.withResolvers<never>();
    severed.catch(() => {});
    cuts.push(reject);
    const sets = cached.memory.watch(...args)[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([sets.next(), severed]);
      await held;
      if (next.done) return;
      yield next.value;
    }
  }
  return {
    ...cached.memory,
    watch,
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
    cut: (error) => {
      for (const cut of cuts.splice(0)) cut(error);
      cuts = [];
    },
  };
}

test('a linearizable read sees every write that was acknowledged before it began', async () => {
  await cached.put('/r/a/1');
  const [a, b] = collectionsOf(cached.open());
  await a.waitUntilFresh(undefined, call);
  expect(await contents(a)).toEqual(['1=/r/a/1']);
  for (let n = 0; n < 50; n++) {
    await cached.put(`/r/b/${n}`);
    await b.waitUntilFresh(undefined, call);
    expect(b.get(String(n))?.text).toBe(`/r/b/${n}`);
  }
});

test('a write outside all collections advances the revision', async () => {
  const [a] = collectionsOf(cached.open());
  const elsewhere = await cached.put('/r/elsewhere');
  await a.waitUntilFresh(elsewhere, call);
  expect(a.currentRevision).toBe(elsewhere);
});

test('a linearizable read waits while the watch is behind, and fails at its deadline', async () => {
  const store = disturbed();
  const [a] = collectionsOf(cached.open({ store }));
  await a.waitUntilFresh(undefined, call);
  const release = store.hold();
  await cached.put('/r/a/1');
  await expect(a.waitUntilFresh(undefined, soon())).rejects.toThrow(StorageUnavailableError);
  const waiting = a.waitUntilFresh(undefined, call);
  expect(a.get('1')).toBeUndefined();
  release();
  await waiting;
  expect(a.get('1')).toBeDefined();
});

test('a caller that disconnects stops waiting for the watch, and others go on', async () => {
  const store = disturbed();
  const [as] = collectionsOf(cached.open({ store }));
  await as.waitUntilFresh(undefined, call);
  const release = store.hold();
  const written = await cached.put('/r/a/x');
  let left = false;
  const signal = AbortSignal.abort(new Error('the client left'));
  const leaving: Call = {
    ...call,
    signal,
    get isAborted() {
      return left;
    },
  };
  const ofLeaving = as.waitUntilFresh(undefined, leaving);
  const ofStaying = as.waitUntilFresh(undefined, call);
  left = true;
  await expect(ofLeaving).rejects.toThrow('the client left');
  release();
  await ofStaying;
  expect(as.currentRevision).toBeGreaterThanOrEqual(written);
});

test('a read that may be stale is immediate, but never misses local writes', async () => {
  const store = disturbed();
  const [a, b] = collectionsOf(cached.open({ store }));
  await a.waitUntilFresh(undefined, call);
  const release = store.hold();
  const written = await cached.put('/r/a/1');
  expect(a.waitUntilFresh('any', call)).toBeUndefined();
  a.noteLocalWrite(written);
  // Reads of another collection need not see it.
  expect(b.waitUntilFresh('any', call)).toBeUndefined();
  const fresh = a.waitUntilFresh('any', call);
  expect(fresh).toBeDefined();
  release();
  await fresh;
  expect(a.get('1')?.revision).toBe(written);
});

test('a query of the latest revision is shared by waiting readers, and not by later ones', async () => {
  let questions = 0;
  const answers: (() => void)[] = [];
  const store: FollowedStore = {
    ...cached.memory,
    readLatestRevision: async (...args) => {
      questions++;
      if (questions > 2) await new Promise<void>((resolve) => answers.push(resolve));
      return cached.memory.readLatestRevision(...args);
    },
  };
  const [a] = collectionsOf(cached.open({ store }));
  await a.waitUntilFresh(undefined, call);
  questions = 2;
  const read = async (): Promise<void> => a.waitUntilFresh(undefined, call);
  const first = Array.from({ length: 20 }, read);
  while (answers.length < 1) await new Promise(setImmediate);
  const second = Array.from({ length: 20 }, read);
  expect(questions).toBe(3);
  answers.shift()?.();
  await Promise.all(first);
  while (answers.length < 1) await new Promise(setImmediate);
  answers.shift()?.();
  await Promise.all(second);
  expect(questions).toBe(4);
});

test('a future revision is refused without waiting', async () => {
  const [a] = collectionsOf(cached.open());
  await expect(a.waitUntilFresh(revision(1_000), call)).rejects.toThrow(RevisionTooLargeError);
});

test('a subscriber gets every change in order, with the previous version', async () => {
  const [a] = collectionsOf(cached.open());
  await a.waitUntilFresh(undefined, call);
  const changes: string[] = [];
  a.subscribe({
    onChange: ({ key, previous, current }) =>
      changes.push(`${key}: ${previous?.text ?? '-'} to ${current?.text ?? '-'}`),
    onReset: () => changes.push('interrupted'),
  });
  await cached.put('/r/a/1', 'one');
  await cached.put('/r/a/1', 'two');
  await cached.remove('/r/a/1');
  await a.waitUntilFresh(undefined, call);
  expect(changes).toEqual(['1: - to one', '1: one to two', '1: two to -']);
});

test('a replica that starts without a store reports it once, however often it retries', async () => {
  let attempts = 0;
  const failing: FollowedStore = {
    ...cached.memory,
    readLatestRevision: (given) => {
      if (attempts++ < 3) return Promise.reject(new StorageUnavailableError('no answer'));
      return cached.memory.readLatestRevision(given);
    },
  };
  cached.open({ store: failing });
  await until('the load', () => cached.reports.some(({ type }) => type === 'loaded') || undefined);
  expect(attempts).toBe(4);
  expect(cached.reports.map(({ type }) => type)).toEqual(['lost', 'loaded']);
});

test('a load takes as long as the pages of a slow store need', async () => {
  const deadlines: number[] = [];
  const list: FollowedStore['list'] = (range, listCall) => {
    deadlines.push(listCall.deadlineMs);
    return cached.memory.list(range, listCall);
  };
  await cached.put('/r/a/1');
  const [a] = collectionsOf(cached.open({ store: { ...cached.memory, list } }));
  await a.waitUntilFresh(undefined, call);
  expect(new Set(deadlines)).toEqual(new Set([Number.POSITIVE_INFINITY]));
});

test('closing does not wait for a page of a slow store', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<Call>();
  const list: FollowedStore['list'] = (_, listCall) => {
    resolve(listCall);
    return new Promise(() => {});
  };
  const cache = cached.open({ store: { ...cached.memory, list } });
  const listCall = await asked;
  await cache.close();
  expect(listCall.isAborted).toBe(true);
});

test('after a lost watch it reloads, reports it, and does not go back in time', async () => {
  const store = disturbed();
  const [a] = collectionsOf(cached.open({ store }));
  await cached.put('/r/a/1', 'one');
  await a.waitUntilFresh(undefined, call);
  let interruptions = 0;
  a.subscribe({ onChange: () => {}, onReset: () => interruptions++ });
  const release = store.hold();
  await cached.put('/r/a/1', 'two');
  await cached.put('/r/a/2', 'three');
  cached.memory.compact(await cached.remove('/r/a/1'));
  const before = a.currentRevision;
  store.cut(new Error('compacted'));
  release();
  await a.waitUntilFresh(undefined, call);
  expect(await contents(a)).toEqual(['2=three']);
  expect(a.currentRevision).toBeGreaterThan(before);
  expect(a.changesAfter(before)).toBeUndefined();
  expect(interruptions).toBe(1);
  expect(cached.reports.map(({ type }) => type)).toEqual(['loaded', 'lost', 'loaded']);
});

test('values that are refused for good are read again on request, no others, and only a success resets subscribers', async () => {
  let locked = true;
  const seal = (entry: Entry): Entry =>
    locked && entry.key.endsWith('/locked')
      ? { key: entry.key, revision: entry.revision, unreadable: new CorruptValueError([entry.key]) }
      : entry;
  const store: FollowedStore = {
    ...cached.memory,
    list: async (...args) => {
      const { entries, ...page } = await cached.memory.list(...args);
      return { ...page, entries: entries.map(seal) };
    },
  };
  for (const key of ['/r/a/before', '/r/a/locked', '/r/b/1']) await cached.put(key);
  const read: string[] = [];
  const collections = ['/r/a/', '/r/b/'].map(descriptorOf).map((descriptor) => ({
    ...descriptor,
    read: (entry: Entry, key: string) => {
      read.push(key);
      return { ...descriptor.read(entry, key), unreadable: entry.unreadable };
    },
  }));
  const cache = cached.open({ store, collections });
  const [a, b] = collectionsOf(cache);
  await cache.firstLoad;
  let resets = 0;
  a.subscribe({ onChange: () => {}, onReset: () => resets++ });
  expect(await contents(a)).toEqual(['before=/r/a/before', 'locked=?']);
  read.splice(0);
  cache.retryUnreadable();
  await untilTurned(() => read.length > 0);
  for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
  expect([read.splice(0), resets, a.isReady]).toEqual([['locked'], 0, true]);
  locked = false;
  cache.retryUnreadable();
  await untilTurned(() => resets > 0);
  expect([read.splice(0), resets]).toEqual([['locked'], 1]);
  expect(await contents(a)).toEqual(['before=/r/a/before', 'locked=/r/a/locked']);
  expect([a, b].map(({ statistics }) => statistics.initializations)).toEqual([2, 1]);
});

test('after a lost watch, contents with values that are refused for good are replaced, too', async () => {
  const disturbedStore = disturbed();
  const list: FollowedStore['list'] = async (...args) => {
    const { entries, ...page } = await cached.memory.list(...args);
    const refused = ({ key, revision: at }: Entry): Entry => ({
      key,
      revision: at,
      unreadable: new CorruptValueError([key]),
    });
    return { ...page, entries: entries.map((entry) => (entry.key.endsWith('/locked') ? refused(entry) : entry)) };
  };
  const plain = descriptorOf('/r/a/');
  const descriptor = {
    ...plain,
    read: (entry: Entry, key: string) => ({ ...plain.read(entry, key), unreadable: entry.unreadable }),
  };
  await cached.put('/r/a/locked');
  const cache = cached.open({ store: { ...disturbedStore, list }, collections: [descriptor] });
  await cache.firstLoad;
  const a = cache.collections[0];
  const release = disturbedStore.hold();
  await cached.put('/r/a/new');
  disturbedStore.cut(new Error('compacted'));
  release();
  await a?.waitUntilFresh(undefined, call);
  expect(a && (await contents(a))).toEqual(['locked=?', 'new=/r/a/new']);
});

describe('when the store has another history', () => {
  test('nothing of the old history is served, and then everything is of the new one', async () => {
    const cache = cached.open();
    const [a] = collectionsOf(cache);
    const before = await cached.put('/r/a/kept', 'one');
    await cached.put('/r/a/kept', 'two');
    const newest = await cached.put('/r/a/lost', 'three');
    await a.waitUntilFresh(undefined, call);
    let interruptions = 0;
    a.subscribe({ onChange: () => {}, onReset: () => interruptions++ });
    a.noteLocalWrite(newest);
    cached.memory.restore(before);
    expect(interruptions).toBe(1);
    expect(() => a.get('kept')).toThrow(HistoryReplacedError);
    expect(() => a.waitUntilFresh('any', call)).toThrow(HistoryReplacedError);
    expect(() => a.view()).toThrow(HistoryReplacedError);
    await untilTurned(() => cache.isSynced);
    await a.waitUntilFresh(undefined, call);
    expect(await contents(a)).toEqual(['kept=one']);
    expect(a.currentRevision).toBe(before);
    expect(a.changesAfter(revision(before - 1))).toBeUndefined();
    await cached.put('/r/a/new', 'four');
    await a.waitUntilFresh(undefined, call);
    expect(await contents(a)).toEqual(['kept=one', 'new=four']);
    expect(cached.reports.map(({ type }) => type)).toEqual(['loaded', 'history replaced', 'loaded']);
  });

  test('reads that wait for the old history fail at once', async () => {
    const store = disturbed();
    const [a] = collectionsOf(cached.open({ store }));
    const at = await cached.put('/r/a/1');
    await a.waitUntilFresh(undefined, call);
    const release = store.hold();
    await cached.put('/r/a/2');
    const waiting = a.waitUntilFresh(undefined, call);
    await new Promise(setImmediate);
    cached.memory.restore(at);
    await expect(waiting).rejects.toThrow(HistoryReplacedError);
    release();
  });
});

test('a collection counts its loads, changes and contents', async () => {
  await cached.put('/r/a/1');
  const [a, b] = collectionsOf(cached.open());
  await a.waitUntilFresh(undefined, call);
  const loaded = a.statistics;
  expect(loaded).toMatchObject({ objects: 1, initializations: 1, eventsReceived: 0, windowChanges: 0, windowBytes: 0 });
  await cached.put('/r/a/1', 'again');
  await cached.put('/r/a/2');
  await cached.remove('/r/a/2');
  await a.waitUntilFresh(undefined, call);
  expect(a.statistics).toMatchObject({
    objects: 1,
    initializations: 1,
    eventsReceived: 3,
    eventsDispatched: 3,
    windowChanges: 3,
  });
  expect(a.statistics.windowBytes).toBeGreaterThan(loaded.windowBytes);
  expect(b.statistics).toMatchObject({ objects: 0, eventsReceived: 0 });
});

test('non-ASCII keys are in byte order', async () => {
  const names = ['z', 'é', '\uffee', '😀', 'a'];
  for (const name of names) await cached.put(`/r/a/${name}`, name);
  const [a] = collectionsOf(cached.open());
  await a.waitUntilFresh(undefined, call);
  const { entries } = await cached.memory.list({ prefix: '/r/a/' }, call);
  expect((await contents(a))?.map((line) => line.split('=')[1])).toEqual(entries.map(textOf));
});

test('a load that ends at the moment of a replacement is never served', async () => {
  for (let microtasks = 0; microtasks < 20; microtasks++) {
    const kept = await cached.put('/r/a/kept');
    await cached.put('/r/a/lost');
    const number = cached.memory.historyNumber + 1;
    const replaceAfter = (left: number): void =>
      queueMicrotask(() => (left > 0 ? replaceAfter(left - 1) : cached.memory.restore(kept)));
    let lists = 0;
    const list: FollowedStore['list'] = async (...args) => {
      const page = await cached.memory.list(...args);
      if (lists++ === 0) replaceAfter(microtasks);
      return page;
    };
    const cache = cached.open({ store: { ...cached.memory, list } });
    const [a] = collectionsOf(cache);
    await untilTurned(() => cached.memory.historyNumber === number);
    expect(() => a.get('lost')).toThrow(HistoryReplacedError);
    await untilTurned(() => cache.isSynced);
    expect(a.get('lost')).toBeUndefined();
    await cache.close();
  }
});
