import { beforeEach, expect, test } from '@jest/globals';
import { CleanupStack, type Clock, seededRandom } from '@cluster-apiserver/base';
import { retryUntilDone, startStartupWork } from './retry-until-done.ts';

/** Every pause is over at once. */
const waits: number[] = [];
beforeEach(() => void waits.splice(0));
const pauses = { firstMs: 1_000, maxMs: 60_000 };
const clock: Clock = {
  now: () => 0,
  monotonicMs: () => 0,
  after: (delayMs, callback) => {
    waits.push(delayMs);
    setImmediate(callback);
    return () => {};
  },
  soon: (callback) => void setImmediate(callback),
  microtask: queueMicrotask,
};

test('failed work is retried with backoff until it succeeds', async () => {
  const failures: unknown[] = [];
  let starts = 0;
  const work = async (): Promise<void> => {
    if (++starts < 4) throw new Error(`failure ${starts}`);
  };
  const { signal } = new AbortController();
  await retryUntilDone({
    clock,
    random: seededRandom(1),
    pauses,
    signal,
    work,
    failed: (error) => failures.push(error),
  });
  expect(starts).toBe(4);
  expect(failures).toHaveLength(3);
  expect(waits).toEqual(waits.toSorted((one, other) => one - other));
  expect(waits[0]).toBeGreaterThanOrEqual(500);
});

test('work that fails after the signal is not retried', async () => {
  const term = new AbortController();
  let starts = 0;
  const work = async (): Promise<void> => {
    starts++;
    term.abort();
    throw new Error('aborted');
  };
  await retryUntilDone({ clock, random: seededRandom(1), pauses, signal: term.signal, work, failed: () => {} });
  expect(starts).toBe(1);
});

test('startup work begins when it is ready, and closing ends it', async () => {
  const cleanup = new CleanupStack();
  const ready = Promise.withResolvers<void>();
  let runs = 0;
  const failures: unknown[] = [];
  const start = (fails: boolean): Promise<boolean> =>
    startStartupWork(
      {
        name: 'work',
        clock,
        random: seededRandom(1),
        ready: ready.promise,
        work: async (signal) => {
          runs++;
          if (fails && runs > 3) void cleanup.close();
          signal.throwIfAborted();
          if (fails) throw new Error('failure');
        },
        failed: (error) => failures.push(error),
      },
      cleanup,
    );
  const done = start(false);
  await new Promise(setImmediate);
  expect(runs).toBe(0);
  ready.resolve();
  expect(await done).toBe(true);
  expect(await start(true)).toBe(false);
  expect(failures).toHaveLength(2);
});
