import { expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { StorageUnavailableError } from '../errors.ts';
import { type Revision, revision } from '../revision.ts';
import { Freshness } from './freshness.ts';

/** Advances the clock in small steps, with an event-loop iteration after each. */
async function passing(clock: FakeClock, ms: number, stepMs = 50): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += stepMs) {
    await new Promise(setImmediate);
    clock.advance(stepMs);
  }
  await new Promise(setImmediate);
}

test('during the first load, a new reader does not fail because others have waited for long', async () => {
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
  freshness.advance(revision(11), true);
  expect(freshness.progressAgeMs).toBe(0);
  head = 12;
  read('in vain', 600_000);
  await passing(clock, 12_000);
  expect(observed).toEqual([
    'fresh 0 true',
    'fresh and short 0 true',
    'waits shortly 200 false',
    'waits 400 true',
    expect.stringMatching(/^in vain 3\d\d\d false$/),
  ]);
});

test('readers of a revision that does not arrive fail once etcd does not respond', async () => {
  const clock = fakeClock();
  let query = Promise.resolve(revision(11));
  const freshness = new Freshness({
    store: { readLatestRevision: () => query, requestProgress: () => {}, restartWatches: () => {} },
    clock,
  });
  const failures: string[] = [];
  const read = (name: string): void =>
    void freshness
      .waitForLatest(callUntil(clock.monotonicMs() + 600_000))
      .catch((error: unknown) => failures.push(`${name}: ${error}`));
  const failed = 'StorageUnavailableError: no quorum';
  /** The next query fails after a while. */
  const failQuery = async (meanwhile: () => void): Promise<void> => {
    const response = Promise.withResolvers<never>();
    query = response.promise;
    await passing(clock, 300);
    meanwhile();
    await passing(clock, 300);
    response.reject(new StorageUnavailableError('no quorum'));
    query = Promise.resolve(revision(12));
    await passing(clock, 50);
  };
  freshness.setLoaded(revision(10));
  read('early');
  await passing(clock, 50);
  expect(freshness.waiterCount).toBe(1);
  await failQuery(() => read('late'));
  expect(failures.toSorted()).toEqual([`early: ${failed}`, `late: ${failed}`]);

  read('with progress');
  await passing(clock, 50);
  await failQuery(() => freshness.advance(revision(11), true));
  expect([failures.length, freshness.waiterCount]).toEqual([2, 1]);
  freshness.advance(revision(12), true);
  expect(freshness.waiterCount).toBe(0);

  const unanswered = Promise.withResolvers<never>();
  query = unanswered.promise;
  read('without response');
  await passing(clock, 50);
  query = Promise.resolve(revision(13));
  read('with a later response');
  await passing(clock, 50);
  unanswered.reject(new StorageUnavailableError('no quorum'));
  await passing(clock, 50);
  expect(failures.slice(2)).toEqual([`without response: ${failed}`]);
  expect(freshness.waiterCount).toBe(1);
  freshness.advance(revision(13), true);
  expect(freshness.waiterCount).toBe(0);
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
    freshness.advance(revision(at), true);
  }
  expect(arrived).toBe(false);
  freshness.advance(revision(100), true);
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
  // The store reports the same revision again: the watch is alive, but has not moved.
  freshness.advance(revision(5), true);
  expect(freshness.progressAgeMs).toBe(0);
  await passing(clock, 400);
  expect(reopened).toBe(1);
  await passing(clock, 1_300);
  expect(reopened).toBe(2);
  expect(freshness.waitForLocalWrite(revision(10), callUntil(clock.monotonicMs() + 600_000))).toBeUndefined();
});

test('readers that need revisions of keys outside the prefix wait for few round trips, however many come', async () => {
  const clock = fakeClock();
  const roundTripMs = 1;
  let head = 10;
  let requests = 0;
  const freshness = new Freshness({
    store: {
      readLatestRevision: async () => revision(head),
      requestProgress: () => {
        requests++;
        const then = revision(head);
        clock.after(roundTripMs, () => freshness.advance(then, true));
      },
      restartWatches: () => {},
    },
    clock,
  });
  freshness.setLoaded(revision(head));
  const waitsMs: number[] = [];
  const durationMs = 300;
  for (let passedMs = 0; passedMs < durationMs; passedMs++) {
    head++;
    void freshness.waitForLatest(callUntil(clock.monotonicMs() + 600_000), (waitedMs) => waitsMs.push(waitedMs));
    await passing(clock, 1, 1);
  }
  await passing(clock, 200, 1);
  expect(waitsMs).toHaveLength(durationMs);
  // The time in which the watch delivers writes below the prefix, and a request that is in flight already.
  expect(Math.max(...waitsMs)).toBeLessThanOrEqual(4 + 2 * roundTripMs + 2);
  expect(requests).toBeLessThanOrEqual(durationMs / 2 + 1);
});

interface World {
  readonly clock: FakeClock;
  readonly freshness: Freshness;
  /** The queries in flight, each answered by its test. */
  readonly sent: PromiseWithResolvers<Revision>[];
  /** Which readers got which revision, or failed. */
  readonly results: string[];
  read(name: string): Promise<void>;
}

function open(): World {
  const clock = fakeClock();
  const sent: PromiseWithResolvers<Revision>[] = [];
  const results: string[] = [];
  const readLatestRevision = (): Promise<Revision> => {
    const response = Promise.withResolvers<Revision>();
    sent.push(response);
    return response.promise;
  };
  const store = { readLatestRevision, requestProgress: () => {}, restartWatches: () => {} };
  const freshness = new Freshness({ clock, store });
  freshness.setLoaded(revision(10));
  return {
    ...{ clock, freshness, sent, results },
    read: async (name) => {
      freshness.waitForLatest(callUntil(clock.monotonicMs() + 60_000)).then(
        () => results.push(name),
        () => results.push(`${name} failed`),
      );
      await settle();
    },
  };
}

/** Lets queries that were requested be sent. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

async function answer({ sent, clock }: World, at: number): Promise<void> {
  clock.advance(1);
  sent[at]?.resolve(revision(10));
  await settle();
}

test('readers that arrive while a query is in flight share the next one', async () => {
  const world = open();
  await world.read('first');
  await world.read('second');
  await world.read('third');
  expect(world.sent).toHaveLength(1);
  await answer(world, 0);
  expect(world.results).toEqual(['first']);
  await answer(world, 1);
  expect(world.results).toEqual(['first', 'second', 'third']);
  expect(world.sent).toHaveLength(2);
});

test('a query that is in flight for long does not hold up later readers, and each gets the answer to its own', async () => {
  const world = open();
  await world.read('first');
  world.clock.advance(2);
  await world.read('second');
  expect(world.sent).toHaveLength(2);
  await answer(world, 1);
  expect(world.results).toEqual(['second']);
  await answer(world, 0);
  expect(world.results).toEqual(['second', 'first']);
});

test('four queries are in flight at most, and the end of any of them sends the next one', async () => {
  const world = open();
  for (const name of ['1', '2', '3', '4', '5', '6']) {
    await world.read(name);
    world.clock.advance(2);
  }
  expect(world.sent).toHaveLength(4);
  await answer(world, 2);
  expect(world.sent).toHaveLength(5);
  await answer(world, 4);
  expect(world.results).toEqual(['3', '5', '6']);
});

test('a query that finds etcd unavailable fails readers that were queued for long, and the others get the next one', async () => {
  const world = open();
  await world.read('first');
  await world.read('second');
  world.clock.advance(500);
  for (const name of ['third', 'fourth', 'fifth']) {
    await world.read(name);
    world.clock.advance(2);
  }
  await world.read('queued early');
  world.clock.advance(1_000);
  await world.read('queued late');
  expect(world.sent).toHaveLength(4);
  world.sent[0]?.reject(new StorageUnavailableError('etcd does not respond'));
  await settle();
  expect(world.results).toEqual(['first failed', 'queued early failed']);
  await answer(world, 4);
  expect(world.results.slice(2)).toEqual(['queued late']);
});

test('while readers wait without progress, a query is sent only if none is in flight', async () => {
  const world = open();
  await world.read('first');
  world.sent[0]?.resolve(revision(11));
  await settle();
  for (let checks = 0; checks < 5; checks++) {
    world.clock.advance(100);
    await settle();
  }
  expect(world.sent).toHaveLength(2);
  await answer(world, 1);
  world.clock.advance(100);
  await settle();
  expect(world.sent).toHaveLength(3);
});
