import { expect, test } from '@jest/globals';
import { type Clock, systemClock } from './clock.ts';
import { iterationsPerSlice, turnsOf } from './turns.ts';

/** Time moves by hand, and the iterations of the event loop up to the next slice are a call. */
function byHand() {
  let ms = 0;
  const soon: (() => void)[] = [];
  const clock: Clock = { ...systemClock, monotonicMs: () => ms, soon: (callback) => void soon.push(callback) };
  return {
    turns: turnsOf(clock),
    clock,
    work: (milliseconds: number) => void (ms += milliseconds),
    iterate: async () => {
      for (let i = 0; i < iterationsPerSlice; i++) for (const callback of soon.splice(0)) callback();
      await Promise.resolve();
    },
    scheduled: () => soon.length,
  };
}

test('works of some milliseconds have one iteration of the event loop each, in the order in which they came', async () => {
  const { turns, work, iterate } = byHand();
  const done: string[] = [];
  for (const name of ['a', 'b', 'c'])
    void turns.take(() => {
      work(5);
      done.push(name);
    });
  expect(done).toEqual([]);
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await iterate();
    expect(done).toEqual(expected);
  }
});

test('short works share an iteration, but for what is asked for meanwhile', async () => {
  const { turns, work, iterate, scheduled } = byHand();
  let done = 0;
  const again = (): void => {
    work(0.1);
    done++;
    if (done < 40) void turns.take(again);
  };
  for (let i = 0; i < 10; i++) void turns.take(again);
  await iterate();
  expect(done).toBe(10);
  while (scheduled() > 0) await iterate();
  expect(done).toBeGreaterThanOrEqual(40);
});

test('a work is told when others should have their turn', async () => {
  const { turns, work, iterate } = byHand();
  let steps = 0;
  const taken = turns.take((isOver) => {
    while (!isOver()) {
      work(1);
      steps++;
    }
    return 'done';
  });
  await iterate();
  expect(await taken).toBe('done');
  expect(steps).toBe(4);
});

test('a work that is alone is done at once, and many at one moment are spread over iterations', async () => {
  const { turns, work, iterate, scheduled } = byHand();
  const done: number[] = [];
  const take = (at: number): number | Promise<number> =>
    turns.takeNow(() => {
      work(1);
      return done.push(at);
    });
  expect(take(0)).toBe(1);
  await iterate();
  expect(scheduled()).toBe(0);
  for (let at = 1; at <= 10; at++) void take(at);
  expect(done.length).toBe(5);
  const counts: number[] = [];
  while (scheduled() > 0) {
    await iterate();
    counts.push(done.length);
  }
  expect(counts).toEqual([9, 11]);
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

test('an iteration has a bounded number of works, however short each is', async () => {
  const { turns, iterate, scheduled } = byHand();
  let done = 0;
  const counts: number[] = [];
  for (let at = 0; at < 100; at++) void turns.takeNow(() => done++);
  counts.push(done);
  while (scheduled() > 0) {
    await iterate();
    counts.push(done);
  }
  expect(counts).toEqual([32, 64, 96, 100]);
});

test('a work that could be done at once waits behind those that wait already', async () => {
  const { turns, iterate } = byHand();
  const done: string[] = [];
  void turns.take(() => done.push('first'));
  void turns.takeNow(() => done.push('second'));
  expect(done).toEqual([]);
  await iterate();
  expect(done).toEqual(['first', 'second']);
});

test('what a work throws is thrown to who asked for it, and the next one has its turn', async () => {
  const { turns, iterate } = byHand();
  const broken = turns.take(() => {
    throw new Error('broken');
  });
  const next = turns.take(() => 1);
  const both = Promise.allSettled([broken, next]);
  await iterate();
  expect(await both).toEqual([
    { status: 'rejected', reason: new Error('broken') },
    { status: 'fulfilled', value: 1 },
  ]);
});

test('a process has one queue, and asks the event loop for nothing while nobody waits', () => {
  const { turns, clock, scheduled } = byHand();
  expect(turnsOf(clock)).toBe(turns);
  expect(turnsOf({ ...clock })).not.toBe(turns);
  expect(scheduled()).toBe(0);
});
