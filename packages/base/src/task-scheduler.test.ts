import { expect, test } from '@jest/globals';
import { type Clock, systemClock } from './clock.ts';
import { iterationsPerSlice, schedulerOf, TimeSlice } from './task-scheduler.ts';

/** A clock that `spend` advances; `iterate` runs the event loop up to the next slice. */
function manualClock() {
  let ms = 0;
  const soon: (() => void)[] = [];
  const clock: Clock = { ...systemClock, monotonicMs: () => ms, soon: (callback) => void soon.push(callback) };
  return {
    scheduler: schedulerOf(clock),
    clock,
    spend: (milliseconds: number) => void (ms += milliseconds),
    iterate: async () => {
      for (let i = 0; i < iterationsPerSlice; i++) for (const callback of soon.splice(0)) callback();
      await Promise.resolve();
    },
    scheduled: () => soon.length,
  };
}

test('tasks of several milliseconds get one slice each, in order', async () => {
  const { scheduler, spend, iterate } = manualClock();
  const done: string[] = [];
  for (const name of ['a', 'b', 'c'])
    void scheduler.schedule(() => {
      spend(5);
      done.push(name);
    });
  expect(done).toEqual([]);
  for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
    await iterate();
    expect(done).toEqual(expected);
  }
});

test('short tasks share a slice, except those queued meanwhile', async () => {
  const { scheduler, spend, iterate, scheduled } = manualClock();
  let done = 0;
  const again = (): void => {
    spend(0.1);
    done++;
    if (done < 40) void scheduler.schedule(again);
  };
  for (let i = 0; i < 10; i++) void scheduler.schedule(again);
  await iterate();
  expect(done).toBe(10);
  while (scheduled() > 0) await iterate();
  expect(done).toBeGreaterThanOrEqual(40);
});

test('a task learns when it should yield', async () => {
  const { scheduler, spend, iterate } = manualClock();
  let steps = 0;
  const taken = scheduler.schedule((isOver) => {
    while (!isOver()) {
      spend(1);
      steps++;
    }
    return 'done';
  });
  await iterate();
  expect(await taken).toBe('done');
  expect(steps).toBe(4);
});

test('a single task runs at once, and many at the same moment spread over slices', async () => {
  const { scheduler, spend, iterate, scheduled } = manualClock();
  const done: number[] = [];
  const take = (at: number): number | Promise<number> =>
    scheduler.runOrSchedule(() => {
      spend(1);
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

test('a slice has a bounded number of tasks, however short they are', async () => {
  const { scheduler, iterate, scheduled } = manualClock();
  let done = 0;
  const counts: number[] = [];
  for (let at = 0; at < 100; at++) void scheduler.runOrSchedule(() => done++);
  counts.push(done);
  while (scheduled() > 0) {
    await iterate();
    counts.push(done);
  }
  expect(counts).toEqual([32, 64, 96, 100]);
});

test('a task that could run at once waits for those queued before it', async () => {
  const { scheduler, iterate } = manualClock();
  const done: string[] = [];
  void scheduler.schedule(() => done.push('first'));
  void scheduler.runOrSchedule(() => done.push('second'));
  expect(done).toEqual([]);
  await iterate();
  expect(done).toEqual(['first', 'second']);
});

test('an error of a task rejects its caller, and the next task runs', async () => {
  const { scheduler, iterate } = manualClock();
  const broken = scheduler.schedule(() => {
    throw new Error('broken');
  });
  const next = scheduler.schedule(() => 1);
  const both = Promise.allSettled([broken, next]);
  await iterate();
  expect(await both).toEqual([
    { status: 'rejected', reason: new Error('broken') },
    { status: 'fulfilled', value: 1 },
  ]);
});

test('a clock has one scheduler, which schedules nothing while its queue is empty', () => {
  const { scheduler, clock, scheduled } = manualClock();
  expect(schedulerOf(clock)).toBe(scheduler);
  expect(schedulerOf({ ...clock })).not.toBe(scheduler);
  expect(scheduled()).toBe(0);
});

test('the slice of a loop includes the work of its source', () => {
  const { clock, spend } = manualClock();
  const slice = new TimeSlice(clock);
  let items = 0;
  do {
    spend(0.9);
    slice.resume();
    spend(0.1);
    items++;
  } while (!slice.shouldYield());
  expect(items).toBe(5);
});

test('a loop that has yielded gets a whole slice, and so does one in each iteration', async () => {
  const { clock, spend, iterate } = manualClock();
  const slice = new TimeSlice(clock);
  slice.resume();
  spend(5);
  expect(slice.shouldYield()).toBe(true);
  const yielded = slice.yieldToEventLoop();
  await iterate();
  await yielded;
  spend(3);
  expect(slice.shouldYield()).toBe(false);
  await iterate();
  slice.resume();
  spend(3);
  expect(slice.shouldYield()).toBe(false);
});
