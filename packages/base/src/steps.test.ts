import { expect, test } from '@jest/globals';
import { type Call, callUntil } from './call.ts';
import { type Clock, systemClock } from './clock.ts';
import { atOnce, perform, resultOf, type Steps, type Work } from './steps.ts';
import { iterationsPerSlice } from './turns.ts';

/** Time passes only where work takes it, and iterations of the event loop are counted. */
function byHand() {
  let ms = 0;
  let turns = 0;
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => ms,
    soon: (callback) => {
      turns++;
      setImmediate(callback);
    },
  };
  return { clock, turns: () => turns, takes: (milliseconds: number) => void (ms += milliseconds) };
}
const call = callUntil(Number.POSITIVE_INFINITY);

function* steps(amount: number, step: () => void): Steps<string> {
  for (let i = 0; i < amount; i++) {
    step();
    yield;
  }
  return 'done';
}

test('work of a few milliseconds is done at once, in however many steps', () => {
  const { clock, takes, turns } = byHand();
  expect(
    perform(
      clock,
      call,
      steps(100, () => takes(0.03)),
    ),
  ).toBe('done');
  expect(turns()).toBe(0);
});

test('work that takes longer goes on in turns, and so does what follows it', async () => {
  const { clock, takes, turns } = byHand();
  const result = perform(
    clock,
    call,
    steps(10, () => takes(5)),
  );
  expect(result).toBeInstanceOf(Promise);
  expect(await result).toBe('done');
  // One for each step but the first, one for the end of the work, one for what follows.
  expect(turns()).toBe(11 * iterationsPerSlice);
});

test('work that is known to be large begins in a turn', async () => {
  const { clock, turns } = byHand();
  let begun = 0;
  const result = perform(
    clock,
    call,
    steps(3, () => begun++),
    true,
  );
  expect(begun).toBe(0);
  expect(await result).toBe('done');
  expect(turns()).toBe(2 * iterationsPerSlice);
});

test('short work that waits for a promise takes no turn', async () => {
  const { clock, turns } = byHand();
  function* waiting(): Work<number> {
    const one = yield* resultOf(Promise.resolve(1));
    yield;
    return one + (yield* resultOf(2));
  }
  expect(await perform(clock, call, waiting())).toBe(3);
  expect(turns()).toBe(0);
});

test('what a promise is rejected with is thrown where the work waits for it', async () => {
  const { clock } = byHand();
  function* waiting(): Work<string> {
    try {
      return yield* resultOf(Promise.reject<string>(new Error('refused')));
    } catch (error) {
      return (error as Error).message;
    }
  }
  expect(await perform(clock, call, waiting())).toBe('refused');
});

test.each([false, true])('an error of the work is that of what is performed, large: %s', async (isLarge) => {
  const { clock } = byHand();
  const broken = async (): Promise<string> =>
    perform(
      clock,
      call,
      steps(1, () => {
        throw new Error('broken');
      }),
      isLarge,
    );
  await expect(broken()).rejects.toThrow('broken');
});

test('work ends with its call', async () => {
  const { clock, takes } = byHand();
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
    takes(5);
    if (++taken === 3) client.abort(new Error('the client left'));
  };
  await expect(perform(clock, requestCall, steps(10, step))).rejects.toThrow('the client left');
  expect(taken).toBe(3);
});

test('steps can be taken without a break', () => {
  expect(atOnce(steps(3, () => {}))).toBe('done');
});
