import { expect, test } from '@jest/globals';
import { type Call, callUntil } from './call.ts';
import { type Clock, systemClock } from './clock.ts';
import { iterationMs, loopOf } from './loop.ts';
import { runSync, runTask, awaitValue, type SyncTask, type Task } from './task.ts';

/** A slice saves up its time, a millisecond in each iteration. */
const iterationsPerSlice = 4;

/** A clock that only `spend` advances, and that counts iterations of the event loop. */
function manualClock() {
  let ms = 0;
  let iterations = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => ms,
    soon: (callback) => {
      iterations++;
      setImmediate(callback);
    },
  };
  return { clock, iterations: () => iterations, spend: (milliseconds: number) => void (ms += milliseconds) };
}
const call = callUntil(Number.POSITIVE_INFINITY);

function* steps(amount: number, step: () => void): SyncTask<string> {
  for (let i = 0; i < amount; i++) {
    step();
    yield;
  }
  return 'done';
}

test('a task of a few milliseconds completes synchronously, however many steps it has', () => {
  const { clock, spend, iterations } = manualClock();
  expect(
    runTask(
      clock,
      call,
      steps(100, () => spend(0.03)),
    ),
  ).toBe('done');
  expect(iterations()).toBe(0);
});

test('a short task waits in an iteration that is late, and does not take the time of long work', async () => {
  const { clock, spend, iterations } = manualClock();
  loopOf(clock).queue('request', () => {});
  spend(iterationMs);
  let taken = 0;
  const results = Array.from({ length: 12 }, async () =>
    runTask(
      clock,
      call,
      steps(1, () => (spend(1), taken++)),
    ),
  );
  expect(taken).toBe(0);
  expect(await Promise.all(results)).toEqual(Array(12).fill('done'));
  // Four in each, and one in which the lane gets its time back.
  expect(iterations()).toBeLessThanOrEqual(4);
});

test('a longer task continues in slices, and so does its caller', async () => {
  const { clock, spend, iterations } = manualClock();
  const result = runTask(
    clock,
    call,
    steps(10, () => spend(5)),
  );
  expect(result).toBeInstanceOf(Promise);
  expect(await result).toBe('done');
  // A slice for each step but the first; the end of the task and its caller take little of theirs.
  expect(iterations()).toBeGreaterThanOrEqual(9 * iterationsPerSlice);
});

test('a task that is known to be large begins in a slice', async () => {
  const { clock, iterations } = manualClock();
  let begun = 0;
  const result = runTask(
    clock,
    call,
    steps(3, () => begun++),
    true,
  );
  expect(begun).toBe(0);
  expect(await result).toBe('done');
  // One for the task, one for its caller, and both have used nothing.
  expect(iterations()).toBeGreaterThanOrEqual(2);
});

test('a short task that awaits a promise takes no slice', async () => {
  const { clock, iterations } = manualClock();
  function* waiting(): Task<number> {
    const one = yield* awaitValue(Promise.resolve(1));
    yield;
    return one + (yield* awaitValue(2));
  }
  expect(await runTask(clock, call, waiting())).toBe(3);
  expect(iterations()).toBe(0);
});

test('a rejection is thrown where the task awaits the promise', async () => {
  const { clock } = manualClock();
  function* waiting(): Task<string> {
    try {
      return yield* awaitValue(Promise.reject<string>(new Error('refused')));
    } catch (error) {
      return (error as Error).message;
    }
  }
  expect(await runTask(clock, call, waiting())).toBe('refused');
});

test.each([false, true])('an error of the task rejects its run, large: %s', async (isLarge) => {
  const { clock } = manualClock();
  const broken = async (): Promise<string> =>
    runTask(
      clock,
      call,
      steps(1, () => {
        throw new Error('broken');
      }),
      isLarge,
    );
  await expect(broken()).rejects.toThrow('broken');
});

test('a task ends when its call is aborted', async () => {
  const { clock, spend } = manualClock();
  const client = new AbortController();
  const { signal } = client;
  const requestCall: Call = {
    ...call,
    signal,
    get isAborted() {
      return signal.aborted;
    },
  };
  let taken = 0;
  const step = (): void => {
    spend(5);
    if (++taken === 3) client.abort(new Error('the client disconnected'));
  };
  await expect(runTask(clock, requestCall, steps(10, step))).rejects.toThrow('the client disconnected');
  expect(taken).toBe(3);
});

test('a task that is abandoned runs its finally blocks', async () => {
  const { clock, spend } = manualClock();
  const signal = AbortSignal.abort(new Error('the client disconnected'));
  let isClosed = false;
  function* holding(): SyncTask<string> {
    try {
      return yield* steps(10, () => spend(5));
    } finally {
      isClosed = true;
    }
  }
  const aborted: Call = { ...call, signal, isAborted: true };
  await expect(async () => runTask(clock, aborted, holding())).rejects.toThrow('the client disconnected');
  expect(isClosed).toBe(true);
});

test('a synchronous task can run without a break', () => {
  expect(runSync(steps(3, () => {}))).toBe('done');
});
