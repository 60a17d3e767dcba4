import { expect, test } from '@jest/globals';
import { type Clock, seededRandom } from '@cluster-apiserver/base';
import { runWithRestarts } from './run-with-restarts.ts';

/** Every pause is over at once. */
const pauses: number[] = [];
const clock: Clock = {
  now: () => 0,
  monotonicMs: () => 0,
  after: (delayMs, callback) => {
    pauses.push(delayMs);
    setImmediate(callback);
    return () => {};
  },
  soon: (callback) => void setImmediate(callback),
  microtask: queueMicrotask,
};

test('failed work is restarted with backoff until it succeeds', async () => {
  const failures: unknown[] = [];
  let starts = 0;
  const work = async (): Promise<void> => {
    if (++starts < 4) throw new Error(`failure ${starts}`);
  };
  const { signal } = new AbortController();
  await runWithRestarts({ clock, random: seededRandom(1), signal, work, failed: (error) => failures.push(error) });
  expect(starts).toBe(4);
  expect(failures).toHaveLength(3);
  expect(pauses).toEqual(pauses.toSorted((one, other) => one - other));
  expect(pauses[0]).toBeGreaterThanOrEqual(500);
});

test('work that fails after the signal is not restarted', async () => {
  const term = new AbortController();
  let starts = 0;
  const work = async (): Promise<void> => {
    starts++;
    term.abort();
    throw new Error('aborted');
  };
  await runWithRestarts({ clock, random: seededRandom(1), signal: term.signal, work, failed: () => {} });
  expect(starts).toBe(1);
});
