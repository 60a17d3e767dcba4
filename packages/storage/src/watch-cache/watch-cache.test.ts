import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type Call, callUntil, seededRandom, systemClock } from '@cluster-apiserver/base';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { until, untilTurned } from '@cluster-apiserver/testkit/until';
import {
  CorruptValueError,
  HistoryReplacedError,
  KeyUnavailableError,
  RevisionTooLargeError,
  StorageUnavailableError,
} from '../errors.ts';
import { type MemoryStore, memoryStore } from '../memory/memory-store.ts';
import { type Revision, revision } from '../revision.ts';
import type { ChangeSet, Entry, Store } from '../store.ts';
import type { CacheItem, Collection, CollectionDescriptor } from './collection.ts';
import { Freshness } from './freshness.ts';
import { openWatchCache, type WatchCache, type WatchCacheEvent } from './watch-cache.ts';

interface Item extends CacheItem {
  readonly text: string;
}

const form = (prefix: string): CollectionDescriptor<Item> => ({
  prefix,
  read: (entry, key) => ({ key, revision: entry.revision, weight: 2_000, text: textOf(entry) }),
  termsOf: ({ text }) => [text],
});
const textOf = (entry: Entry): string => (entry.unreadable ? '?' : entry.value.toString());

let memory: MemoryStore;
let opened: WatchCache<Item>[];
let reports: WatchCacheEvent[];

beforeEach(() => {
  memory = memoryStore(systemClock);
  opened = [];
  reports = [];
});
afterEach(async () => {
  await Promise.all(opened.map((cache) => cache.close()));
  memory.close();
});

/** Advances the clock in small steps, with a turn of the event loop after each. */
async function passing(clock: FakeClock, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 50) {
    await new Promise(setImmediate);
    clock.advance(50);
  }
  await new Promise(setImmediate);
}

const call = callUntil(Number.POSITIVE_INFINITY);
const soon = () => callUntil(systemClock.monotonicMs() + 50);

function open(store: Store = memory): readonly [Collection<Item>, Collection<Item>] {
  const cache = openWatchCache({
    store,
    prefix: '/r/',
    collections: [form('/r/a/'), form('/r/b/')],
    clock: systemClock,
    random: seededRandom(1),
    report: (event) => reports.push(event),
  });
  opened.push(cache);
  return cache.collections as unknown as readonly [Collection<Item>, Collection<Item>];
}

const put = async (key: string, text = key): Promise<Revision> => {
  const { stored } = await memory.get(key, call);
  const bytes = Buffer.from(text);
  return stored ? memory.update(key, bytes, stored.revision, {}, call) : memory.create(key, bytes, {}, call);
};
const remove = async (key: string): Promise<Revision> =>
  memory.delete(key, (await memory.get(key, call)).stored?.revision ?? revision(0), call);
const contents = async (collection: Collection<Item>, at?: Revision): Promise<string[] | undefined> => {
  const view = at === undefined ? collection.view() : await collection.viewAt(at);
  const items: string[] = [];
  view?.items.visit('', ({ key, text }) => items.push(`${key}=${text}`) > 0);
  return view && items;
};

/** A store whose watches can be held back, and disconnected. */
function disturbed(): Store & { hold(): () => void; cut(error: Error): void } {
  let held: Promise<void> | undefined;
  let cuts: ((error: Error) => void)[] = [];
  async function* watch(...args: Parameters<Store['watch']>): AsyncGenerator<ChangeSet> {
    const { promise: severed, reject } = Promise.withResolvers<never>();
    severed.catch(() => {});
    cuts.push(reject);
    const sets = memory.watch(...args)[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([sets.next(), severed]);
      await held;
      if (next.done) return;
      yield next.value;
    }
  }
  return {
    ...memory,
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
  await put('/r/a/1');
  const [a, b] = open();
  await a.waitUntilFresh(undefined, call);
  expect(await contents(a)).toEqual(['1=/r/a/1']);
  for (let n = 0; n < 50; n++) {
    await put(`/r/b/${n}`);
    await b.waitUntilFresh(undefined, call);
    expect(b.get(String(n))?.text).toBe(`/r/b/${n}`);
  }
});

test('a write outside all collections advances the revision', async () => {
  const [a] = open();
  const elsewhere = await put('/r/elsewhere');
  await a.waitUntilFresh(elsewhere, call);
  expect(a.currentRevision).toBe(elsewhere);
});

test('a linearizable read waits while the watch is behind, and fails at its deadline', async () => {
  const store = disturbed();
  const [a] = open(store);
  await a.waitUntilFresh(undefined, call);
  const release = store.hold();
  await put('/r/a/1');
  await expect(a.waitUntilFresh(undefined, soon())).rejects.toThrow(StorageUnavailableError);
  const waiting = a.waitUntilFresh(undefined, call);
  expect(a.get('1')).toBeUndefined();
  release();
  await waiting;
  expect(a.get('1')).toBeDefined();
});

test('a caller that disconnects stops waiting for the watch, and others go on', async () => {
  const store = disturbed();
  const [as] = open(store);
  await as.waitUntilFresh(undefined, call);
  const release = store.hold();
  const written = await put('/r/a/x');
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
  const [a] = open(store);
  await a.waitUntilFresh(undefined, call);
  const release = store.hold();
  const written = await put('/r/a/1');
  expect(a.waitUntilFresh('any', call)).toBeUndefined();
  a.noteLocalWrite(written);
  const told = a.waitUntilFresh('any', call);
  expect(told).toBeDefined();
  release();
  await told;
  expect(a.get('1')?.revision).toBe(written);
});

test('a query of the latest revision is shared by waiting readers, and not by later ones', async () => {
  let questions = 0;
  const answers: (() => void)[] = [];
  const [a] = open({
    ...memory,
    readLatestRevision: async (...args) => {
      questions++;
      if (questions > 2) await new Promise<void>((resolve) => answers.push(resolve));
      return memory.readLatestRevision(...args);
    },
  });
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
  const [a] = open();
  await expect(a.waitUntilFresh(revision(1_000), call)).rejects.toThrow(RevisionTooLargeError);
});

test('every past state in the window can be read, and found by its index terms', async () => {
  const [a] = open();
  const states = new Map<Revision, string[]>();
  const model = new Map<string, string>();
  const random = seededRandom(5);
  for (let n = 0; n < 300; n++) {
    const key = String(random.below(20));
    const gone = model.has(key) && random.below(3) === 0;
    const at = gone ? await remove(`/r/a/${key}`) : await put(`/r/a/${key}`, `t${n % 7}`);
    if (gone) model.delete(key);
    else model.set(key, `t${n % 7}`);
    states.set(at, [...model].map(([name, text]) => `${name}=${text}`).sort());
  }
  await a.waitUntilFresh(undefined, call);
  for (const [at, state] of states) {
    expect((await contents(a, at))?.sort()).toEqual(state);
    for (let term = 0; term < 7; term++) {
      const found: string[] = [];
      (await a.viewAt(at))?.terms.get(`t${term}`)?.items.visit('', ({ key, text }) => found.push(`${key}=${text}`) > 0);
      expect(found.sort()).toEqual(state.filter((item) => item.endsWith(`=t${term}`)));
    }
  }
});

test('changes too old for the window are reported as missing', async () => {
  const [a] = open();
  await a.waitUntilFresh(undefined, call);
  const begin = a.currentRevision;
  // Each change has the weight of the previous version, so the first ones are dropped.
  for (let n = 0; n < 20_000; n++) await put('/r/a/1', `${n}`);
  await a.waitUntilFresh(undefined, call);
  expect(a.changesAfter(begin)).toBeUndefined();
  expect(await a.viewAt(begin)).toBeUndefined();
  const kept = revision(a.currentRevision - 100);
  expect(a.changesAfter(kept)?.map(({ revision: at }) => at)).toEqual(
    Array.from({ length: 100 }, (_, n) => kept + n + 1),
  );
});

test('changes are kept for 75 seconds, and longer while they are small', async () => {
  const clock = fakeClock();
  const cache = openWatchCache({
    store: memory,
    prefix: '/r/',
    collections: [form('/r/a/'), form('/r/b/')],
    clock,
    random: seededRandom(1),
    report: () => {},
  });
  opened.push(cache);
  const [a, b] = cache.collections as unknown as readonly [Collection<Item>, Collection<Item>];
  await cache.firstLoad;
  const begin = a.currentRevision;
  await put('/r/b/1');
  // Twice of what is kept however old it is.
  for (let n = 0; n < 4_200; n++) await put('/r/a/1', `${n}`);
  await a.waitUntilFresh(undefined, call);
  clock.advance(70_000);
  expect(a.changesAfter(begin)).toHaveLength(4_200);
  await put('/r/a/2');
  await a.waitUntilFresh(undefined, call);
  clock.advance(15_000);
  expect(a.changesAfter(begin)).toBeUndefined();
  expect(a.changesAfter(revision(a.currentRevision - 1_000))).toHaveLength(1_000);
  expect(b.changesAfter(begin)).toHaveLength(1);
});

test('a retained view does not change', async () => {
  const [a] = open();
  await put('/r/a/1');
  await a.waitUntilFresh(undefined, call);
  const view = a.view();
  a.retainView(view);
  await put('/r/a/2');
  await a.waitUntilFresh(undefined, call);
  expect(await a.viewAt(view.revision)).toBe(view);
  expect(await contents(a, view.revision)).toEqual(['1=/r/a/1']);
});

test('a subscriber gets every change in order, with the previous version', async () => {
  const [a] = open();
  await a.waitUntilFresh(undefined, call);
  const told: string[] = [];
  a.subscribe({
    onChange: ({ key, previous, current }) => told.push(`${key}: ${previous?.text ?? '-'} to ${current?.text ?? '-'}`),
    onReset: () => told.push('interrupted'),
  });
  await put('/r/a/1', 'one');
  await put('/r/a/1', 'two');
  await remove('/r/a/1');
  await a.waitUntilFresh(undefined, call);
  expect(told).toEqual(['1: - to one', '1: one to two', '1: two to -']);
});

test('a replica that starts without a store reports it once, however often it retries', async () => {
  let attempts = 0;
  const failing: Store = {
    ...memory,
    readLatestRevision: (given) => {
      if (attempts++ < 3) return Promise.reject(new StorageUnavailableError('no answer'));
      return memory.readLatestRevision(given);
    },
  };
  open(failing);
  await until('the load', () => reports.some(({ type }) => type === 'loaded') || undefined);
  expect(attempts).toBe(4);
  expect(reports.map(({ type }) => type)).toEqual(['lost', 'loaded']);
});

test('a load takes as long as the pages of a slow store need', async () => {
  const deadlines: number[] = [];
  const list: Store['list'] = (range, listCall) => {
    deadlines.push(listCall.deadlineMs);
    return memory.list(range, listCall);
  };
  await put('/r/a/1');
  await open({ ...memory, list })[0].waitUntilFresh(undefined, call);
  expect(deadlines).toEqual([Number.POSITIVE_INFINITY]);
});

test('closing does not wait for a page of a slow store', async () => {
  const { promise: asked, resolve } = Promise.withResolvers<Call>();
  const list: Store['list'] = (_, listCall) => {
    resolve(listCall);
    return new Promise(() => {});
  };
  open({ ...memory, list });
  const listCall = await asked;
  await Promise.all(opened.splice(0).map((cache) => cache.close()));
  expect(listCall.isAborted).toBe(true);
});

test('after a lost watch it reloads, reports it, and does not go back in time', async () => {
  const store = disturbed();
  const [a] = open(store);
  await put('/r/a/1', 'one');
  await a.waitUntilFresh(undefined, call);
  let interruptions = 0;
  a.subscribe({ onChange: () => {}, onReset: () => interruptions++ });
  const release = store.hold();
  await put('/r/a/1', 'two');
  await put('/r/a/2', 'three');
  memory.compact(await remove('/r/a/1'));
  const before = a.currentRevision;
  store.cut(new Error('compacted'));
  release();
  await a.waitUntilFresh(undefined, call);
  expect(await contents(a)).toEqual(['2=three']);
  expect(a.currentRevision).toBeGreaterThan(before);
  expect(a.changesAfter(before)).toBeUndefined();
  expect(interruptions).toBe(1);
  expect(reports.map(({ type }) => type)).toEqual(['loaded', 'lost', 'loaded']);
});

test('only unreadable values are read again, and delivered in their place', async () => {
  let locked = true;
  let lists = 0;
  const seal = (entry: Entry): Entry => {
    if (entry.unreadable || !entry.key.endsWith('/locked') || !locked) return entry;
    const unreadable = new CorruptValueError([entry.key], { cause: new KeyUnavailableError('no key') });
    return { key: entry.key, revision: entry.revision, unreadable, retry: async () => seal(entry) };
  };
  const store: Store = {
    ...memory,
    list: async (range, call) => {
      lists++;
      const { entries, ...page } = await memory.list(range, call);
      return { ...page, entries: entries.map(seal) };
    },
    watch: async function* (...args) {
      for await (const { changes, ...set } of memory.watch(...args))
        yield { ...set, changes: changes.map((one) => ({ ...one, current: one.current && seal(one.current) })) };
    },
  };
  const [a] = open(store);
  const cache = opened[0] as WatchCache<Item>;
  await cache.firstLoad;
  const told: string[] = [];
  a.subscribe({ onChange: ({ key }) => told.push(key), onReset: () => told.push('interrupted') });
  const begin = a.currentRevision;
  await put('/r/a/before', 'x');
  await put('/r/a/locked', 'secret');
  await put('/r/a/after', 'y');
  await a.waitUntilFresh(undefined, call);
  const listsBefore = lists;
  const textOfLocked = (): string | undefined => a.get('locked')?.text;
  const unread = textOfLocked();
  cache.retryUnreadable();
  await new Promise(setImmediate);
  expect(textOfLocked()).toBe(unread);
  locked = false;
  cache.retryUnreadable();
  while (textOfLocked() === unread) await new Promise(setImmediate);
  expect(textOfLocked()).toBe('secret');
  expect(lists).toBe(listsBefore);
  expect(a.changesAfter(begin)?.map(({ current }) => current?.text)).toEqual(['x', 'secret', 'y']);
  await new Promise(setImmediate);
  expect(told).toEqual(['before', 'locked', 'after', 'interrupted']);
});

describe('when the store has another history', () => {
  test('nothing of the old history is served, and then everything is of the new one', async () => {
    const [a] = open(memory);
    const before = await put('/r/a/kept', 'one');
    await put('/r/a/kept', 'two');
    const newest = await put('/r/a/lost', 'three');
    await a.waitUntilFresh(undefined, call);
    let interruptions = 0;
    a.subscribe({ onChange: () => {}, onReset: () => interruptions++ });
    a.noteLocalWrite(newest);
    memory.restore(before);
    expect(interruptions).toBe(1);
    expect(() => a.get('kept')).toThrow(HistoryReplacedError);
    expect(() => a.waitUntilFresh('any', call)).toThrow(HistoryReplacedError);
    expect(() => a.view()).toThrow(HistoryReplacedError);
    await untilTurned(() => opened[0]?.isSynced === true);
    await a.waitUntilFresh(undefined, call);
    expect(await contents(a)).toEqual(['kept=one']);
    expect(a.currentRevision).toBe(before);
    expect(a.changesAfter(revision(before - 1))).toBeUndefined();
    await put('/r/a/new', 'four');
    await a.waitUntilFresh(undefined, call);
    expect(await contents(a)).toEqual(['kept=one', 'new=four']);
    expect(reports.map(({ type }) => type)).toEqual(['loaded', 'history replaced', 'loaded']);
  });

  test('reads that wait for the old history fail at once', async () => {
    const store = disturbed();
    const [a] = open(store);
    const at = await put('/r/a/1');
    await a.waitUntilFresh(undefined, call);
    const release = store.hold();
    await put('/r/a/2');
    const waiting = a.waitUntilFresh(undefined, call);
    await new Promise(setImmediate);
    memory.restore(at);
    await expect(waiting).rejects.toThrow(HistoryReplacedError);
    release();
  });
});

test('a new reader does not fail because others have waited for long', async () => {
  const clock = fakeClock();
  const freshness = new Freshness({
    store: { readLatestRevision: async () => revision(10), requestProgress: () => {}, restartWatches: () => {} },
    clock,
  });
  const later = callUntil(clock.monotonicMs() + 600_000);
  const failures: string[] = [];
  const wait = (name: string): void => void freshness.waitForLatest(later).catch(() => failures.push(name));
  wait('early');
  await passing(clock, 6_000);
  wait('late');
  await passing(clock, 6_000);
  expect(failures).toEqual(['early']);
  await passing(clock, 6_000);
  expect(failures).toEqual(['early', 'late']);
});

test('each read is observed once, with its waiting time and success', async () => {
  const clock = fakeClock();
  let head = 10;
  const freshness = new Freshness({
    store: { readLatestRevision: async () => revision(head), requestProgress: () => {}, restartWatches: () => {} },
    clock,
  });
  const observed: string[] = [];
  const read = (name: string, forMs: number): void =>
    void freshness
      .waitForLatest(callUntil(clock.monotonicMs() + forMs), (waitedMs, succeeded) =>
        observed.push(`${name} ${waitedMs} ${succeeded}`),
      )
      .catch(() => {});
  freshness.setLoaded(revision(10));
  read('fresh', 600_000);
  read('fresh and short', 1_000);
  await passing(clock, 100);
  head = 11;
  read('waits', 600_000);
  read('waits shortly', 200);
  await passing(clock, 400);
  expect(freshness.progressAgeMs).toBe(500);
  freshness.advance(revision(11));
  expect(freshness.progressAgeMs).toBe(0);
  head = 12;
  read('in vain', 600_000);
  await passing(clock, 12_000);
  expect(observed).toEqual([
    'fresh 0 true',
    'fresh and short 0 true',
    'waits shortly 200 false',
    'waits 400 true',
    expect.stringMatching(/^in vain 10\d\d\d false$/),
  ]);
});

test('readers wait while the memory makes slow progress', async () => {
  const clock = fakeClock();
  const freshness = new Freshness({
    store: { readLatestRevision: async () => revision(100), requestProgress: () => {}, restartWatches: () => {} },
    clock,
  });
  let arrived = false;
  void freshness.waitForLatest(callUntil(clock.monotonicMs() + 600_000)).then(() => {
    arrived = true;
  });
  for (let at = 1; at < 100; at++) {
    await passing(clock, 1_000);
    freshness.advance(revision(at));
  }
  expect(arrived).toBe(false);
  freshness.advance(revision(100));
  await passing(clock, 1);
  expect(arrived).toBe(true);
});

test('a stalled watch restarts repeatedly, and reads that may be stale do not wait', async () => {
  const clock = fakeClock();
  let reopened = 0;
  const freshness = new Freshness({
    store: {
      readLatestRevision: async () => revision(10),
      requestProgress: () => {},
      restartWatches: () => reopened++,
    },
    clock,
    stallMs: 1_000,
  });
  freshness.setLoaded(revision(5));
  void freshness.waitForLatest(callUntil(clock.monotonicMs() + 600_000)).catch(() => {});
  await passing(clock, 900);
  expect(reopened).toBe(0);
  await passing(clock, 400);
  expect(reopened).toBe(1);
  await passing(clock, 1_300);
  expect(reopened).toBe(2);
  freshness.noteLocalWrite(revision(10));
  expect(freshness.waitForLocalWrites(callUntil(clock.monotonicMs() + 600_000))).toBeUndefined();
});

test('a new replica has the changes just before its start', async () => {
  const first = await put('/r/a/1', 'one');
  for (let n = 0; n < 6_000; n++) await put('/r/a/1', `${n}`);
  const [a] = open();
  await a.waitUntilFresh(undefined, call);
  expect(a.changesAfter(first)).toBeUndefined();
  expect(a.changesAfter(revision(a.currentRevision - 4_000))).toHaveLength(4_000);
});

test('a collection counts its loads, changes and contents', async () => {
  await put('/r/a/1');
  const [a, b] = open();
  await a.waitUntilFresh(undefined, call);
  const loaded = a.statistics;
  expect(loaded).toMatchObject({ objects: 1, initializations: 1, eventsReceived: 0, windowChanges: 0, windowBytes: 0 });
  await put('/r/a/1', 'again');
  await put('/r/a/2');
  await remove('/r/a/2');
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
  for (const name of names) await put(`/r/a/${name}`, name);
  const [a] = open();
  await a.waitUntilFresh(undefined, call);
  const { entries } = await memory.list({ prefix: '/r/a/' }, call);
  expect((await contents(a))?.map((line) => line.split('=')[1])).toEqual(entries.map(textOf));
});

describe('with any number of objects and changes, one turn of the event loop does a bounded part of the work', () => {
  const stepMs = 0.1;
  /** Some of 4 ms: those of the watch or list, and those of what readers asked for. */
  const stepsPerTurnMax = 100;
  let stepsMax: number;

  /** Only decoding an object takes time. */
  async function open(): Promise<Collection<Item>> {
    let ms = 0;
    let steps = 0;
    const work = (): void => {
      ms += stepMs;
      if (steps++ === 0)
        setImmediate(() => {
          stepsMax = Math.max(stepsMax, steps);
          steps = 0;
        });
    };
    const plain = form('/r/a/');
    const cache = openWatchCache({
      store: memory,
      prefix: '/r/',
      collections: [
        {
          ...plain,
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
      random: seededRandom(1),
      report: (event) => reports.push(event),
    });
    opened.push(cache);
    await cache.firstLoad;
    await new Promise(setImmediate);
    return cache.collections[0] as Collection<Item>;
  }
  const create = async (count: number, first = 0): Promise<void> => {
    for (let n = first; n < first + count; n++) await memory.create(`/r/a/${n}`, Buffer.from(`${n}`), {}, call);
  };

  beforeEach(() => {
    stepsMax = 0;
  });

  test('of a load', async () => {
    await create(3_000);
    memory.compact(await memory.readLatestRevision(call));
    const a = await open();
    expect(a.view().items.size).toBe(3_000);
    expect(a.view().terms.size).toBe(3_000);
    const terms: string[] = [];
    a.view().terms.visit('', ({ key }) => terms.push(key) > 0);
    expect(terms).toEqual(terms.toSorted());
    expect(stepsMax).toBeGreaterThan(20);
    expect(stepsMax).toBeLessThan(stepsPerTurnMax);
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
      at.push(await memory.readLatestRevision(call));
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

  test('of a catch-up', async () => {
    const a = await open();
    const begin = a.currentRevision;
    await create(3_000);
    await a.waitUntilFresh(undefined, call);
    await new Promise(setImmediate);
    stepsMax = 0;
    let wake = (): void => {};
    const reader = a.openCatchUp(begin, () => wake());
    let taken = 0;
    for (let sent = begin; taken < 3_000; ) {
      const changes = reader.take(sent, 100);
      if (!changes) await new Promise<void>((resolve) => (wake = resolve));
      if (!changes || changes === 'refused') continue;
      taken += changes.changes.length;
      sent = changes.revision;
    }
    reader.close();
    await new Promise(setImmediate);
    expect(stepsMax).toBeGreaterThan(20);
    expect(stepsMax).toBeLessThan(stepsPerTurnMax);
  });
});
