import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { IterationLimiter } from './iteration-limiter.ts';

/** An iteration of the event loop is a call. */
function byHand(weightMax: number, { backlogWeightMax = weightMax, longMs = Infinity } = {}) {
  const soon: (() => void)[] = [];
  const resting: { readonly delayMs: number; readonly callback: () => void }[] = [];
  let nowMs = 0;
  const clock = {
    ...systemClock,
    monotonicMs: () => nowMs,
    soon: (callback: () => void) => void soon.push(callback),
    after: (delayMs: number, callback: () => void) => {
      resting.push({ delayMs, callback });
      return () => {};
    },
  };
  return {
    pace: new IterationLimiter(clock, { weightMax, backlogWeightMax, longMs }),
    iterate: (tookMs = 0) => {
      nowMs += tookMs;
      for (const callback of soon.splice(0)) callback();
    },
    isIdle: () => soon.length === 0,
    /** Ends all rests; returns how long they were to last. */
    endRests: () =>
      resting.splice(0).map(({ delayMs, callback }) => {
        callback();
        return delayMs;
      }),
  };
}

test('a single task of an iteration runs at once', () => {
  const { pace, iterate, isIdle } = byHand(1);
  let begun = 0;
  for (let expected = 1; expected <= 3; expected++) {
    pace.run(() => begun++);
    expect(begun).toBe(expected);
    iterate();
    iterate();
    expect(isIdle()).toBe(true);
  }
});

test('tasks beyond the limit run in the next iterations, in order', () => {
  const { pace, iterate, isIdle } = byHand(4);
  const begun: number[] = [];
  const counts: number[] = [];
  for (let at = 0; at < 10; at++) pace.run(() => begun.push(at));
  counts.push(begun.length);
  while (!isIdle()) {
    iterate();
    counts.push(begun.length);
  }
  expect(counts).toEqual([4, 8, 10, 10]);
  expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

test('iterations are shorter while tasks wait', () => {
  const { pace, iterate, isIdle } = byHand(4, { backlogWeightMax: 2 });
  let begun = 0;
  const counts: number[] = [];
  for (let at = 0; at < 7; at++) pace.run(() => begun++);
  counts.push(begun);
  while (!isIdle()) {
    iterate();
    counts.push(begun);
  }
  for (let at = 0; at < 4; at++) pace.run(() => begun++);
  expect([counts, begun]).toEqual([[4, 6, 7, 7], 11]);
});

test('after a long iteration, waiting tasks rest for twice as long', () => {
  const { pace, iterate, endRests } = byHand(1, { longMs: 10 });
  const begun: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) pace.run(() => begun.push(name));
  iterate(10);
  expect(begun).toEqual(['a', 'b']);
  iterate(11);
  pace.run(() => begun.push('e'));
  iterate();
  expect(begun).toEqual(['a', 'b']);
  expect(endRests()).toEqual([22]);
  iterate();
  expect([begun, endRests()]).toEqual([['a', 'b', 'c', 'd'], []]);
  iterate(60_000);
  expect(endRests()).toEqual([50]);
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('nothing rests if no task waits', () => {
  const { pace, iterate, endRests } = byHand(1, { longMs: 10 });
  let begun = 0;
  for (let expected = 1; expected <= 3; expected++) {
    pace.run(() => begun++);
    expect(begun).toBe(expected);
    iterate(100);
    iterate(100);
    expect(endRests()).toEqual([]);
  }
});

test('a task that exceeds the limit runs, and is the last of its iteration', () => {
  const { pace, iterate } = byHand(10);
  const begun: string[] = [];
  for (const name of ['a', 'b', 'c']) pace.run(() => begun.push(name), 100);
  expect(begun).toEqual(['a']);
  iterate();
  expect(begun).toEqual(['a', 'b']);
});

test('later tasks wait behind earlier ones', () => {
  const { pace, iterate } = byHand(2);
  const begun: string[] = [];
  for (const name of ['a', 'b', 'c']) pace.run(() => begun.push(name));
  iterate();
  pace.run(() => begun.push('d'));
  pace.run(() => begun.push('e'));
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
});

test('work that waits in the middle takes turns with tasks', async () => {
  const { pace, iterate } = byHand(2);
  const begun: string[] = [];
  expect(pace.waitForTurn(2)).toBeUndefined();
  const waited = pace.waitForTurn(1);
  void waited?.then(() => begun.push('continued'));
  pace.run(() => begun.push('task'));
  await Promise.resolve();
  expect(begun).toEqual([]);
  iterate();
  await waited;
  expect(begun).toEqual(['task', 'continued']);
});
