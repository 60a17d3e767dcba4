import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  type Call,
  type Caller,
  callUntil,
  DeadlineExceededError,
  detach,
  RequestCall,
  throwIfAborted,
  withDeadline,
  awaitWithin,
} from './call.ts';
import { type Clock, systemClock } from './clock.ts';
import { End } from './end.ts';

let nowMs: number;
let timers: { readonly delayMs: number; readonly ring: () => void }[];
const clock: Clock = {
  ...systemClock,
  monotonicMs: () => nowMs,
  after: (delayMs, ring) => {
    const timer = { delayMs, ring };
    timers.push(timer);
    return () => {
      timers = timers.filter((other) => other !== timer);
    };
  },
};

class TestCaller implements Caller {
  readonly #controller = new AbortController();
  signals = 0;
  readonly #end = new End<object>();

  get isAborted(): boolean {
    return this.#controller.signal.aborted;
  }
  get signal(): AbortSignal {
    this.signals++;
    return this.#controller.signal;
  }
  onEnd(listener: () => void): void {
    this.#end.subscribe(listener);
  }
  disconnect(): void {
    this.#controller.abort(new Error('the client disconnected'));
    this.answered();
  }
  answered(): void {
    this.#end.reach({});
  }
}

let caller: TestCaller;
let call: RequestCall;
beforeEach(() => {
  nowMs = 1_000;
  timers = [];
  caller = new TestCaller();
  call = new RequestCall(caller, clock, 3_000);
});

describe('The call of a request', () => {
  test('creates neither a signal nor a timer until they are needed', () => {
    expect(call.isAborted).toBe(false);
    throwIfAborted(call);
    expect(caller.signals).toBe(0);
    expect(timers).toEqual([]);
  });

  test('returns the same signal each time', () => {
    expect(call.signal).toBe(call.signal);
    expect(timers).toHaveLength(1);
  });

  test('aborts when its caller disconnects, with the same reason', () => {
    const { signal } = call;
    caller.disconnect();
    expect(signal.aborted).toBe(true);
    expect(call.isAborted).toBe(true);
    expect(() => throwIfAborted(call)).toThrow('the client disconnected');
  });

  test('is aborted if the signal is read after its caller has disconnected', () => {
    caller.disconnect();
    expect(call.signal.aborted).toBe(true);
  });

  test('aborts at its deadline', () => {
    const { signal } = call;
    expect(timers.map(({ delayMs }) => delayMs)).toEqual([2_000]);
    timers[0]?.ring();
    expect(signal.reason).toBeInstanceOf(DeadlineExceededError);
    expect(call.isAborted).toBe(true);
  });

  test('leaves no timer after the response', () => {
    expect(call.signal.aborted).toBe(false);
    caller.answered();
    expect(timers).toEqual([]);
  });

  test('can have an earlier deadline for a part of its work, and never a later one', () => {
    expect(withDeadline(call, 2_000).deadlineMs).toBe(2_000);
    expect(withDeadline(call, 9_000).deadlineMs).toBe(3_000);
    const part = withDeadline(call, 2_000);
    caller.disconnect();
    expect(part.isAborted).toBe(true);
    expect(withDeadline(callUntil(3_000), 2_000)).toMatchObject(callUntil(2_000));
  });

  test('leaves no timer after an end that was before', () => {
    caller.answered();
    expect(call.signal.aborted).toBe(false);
    expect(timers).toEqual([]);
  });

  test('is aborted by a deadline that has passed before anybody waited', () => {
    nowMs = 3_000;
    expect(call.isAborted).toBe(true);
    expect(() => throwIfAborted(call)).toThrow(DeadlineExceededError);
    expect(timers).toEqual([]);
  });

  test('has the reason of its deadline before the timer has fired', () => {
    expect(call.signal.aborted).toBe(false);
    nowMs = call.deadlineMs;
    expect(() => throwIfAborted(call)).toThrow(DeadlineExceededError);
  });

  test('no longer depends on its caller when it is detached', () => {
    caller.disconnect();
    expect(detach(call)).toEqual(callUntil(3_000));
  });
});

describe('A part of a call of the server with a signal', () => {
  const signalled = (): { readonly whole: Call; readonly stop: () => void } => {
    const controller = new AbortController();
    const { signal } = controller;
    const whole = {
      ...callUntil(9_000),
      signal,
      get isAborted() {
        return signal.aborted;
      },
    };
    return { whole, stop: () => controller.abort(new Error('stopped')) };
  };

  test('sees the abortion of the whole', () => {
    const { whole, stop } = signalled();
    const part = withDeadline(whole, 2_000);
    expect([part.isAborted, part.deadlineMs]).toEqual([false, 2_000]);
    stop();
    expect(part.isAborted).toBe(true);
    expect(() => throwIfAborted(part)).toThrow('stopped');
  });

  test('ends at its own deadline, and when the whole ends', async () => {
    const waits = signalled();
    const waiting = awaitWithin(clock, withDeadline(waits.whole, 2_000), new Promise(() => {}));
    expect(timers.map(({ delayMs }) => delayMs)).toEqual([1_000]);
    timers[0]?.ring();
    await expect(waiting).rejects.toThrow(DeadlineExceededError);
    const stops = signalled();
    const stopped = awaitWithin(clock, withDeadline(stops.whole, 2_000), new Promise(() => {}));
    stops.stop();
    await expect(stopped).rejects.toThrow('stopped');
  });
});

describe('Waiting for shared work', () => {
  test('settles as the work does', async () => {
    await expect(awaitWithin(clock, call, Promise.resolve('done'))).resolves.toBe('done');
    await expect(awaitWithin(clock, call, Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    await expect(awaitWithin(clock, callUntil(3_000), Promise.resolve('done'))).resolves.toBe('done');
    caller.answered();
    expect(timers).toEqual([]);
  });

  test('ends for a caller that disconnects and goes on for the others', async () => {
    const work = Promise.withResolvers<string>();
    const disconnecting = awaitWithin(clock, call, work.promise);
    const staying = awaitWithin(clock, callUntil(Number.POSITIVE_INFINITY), work.promise);
    caller.disconnect();
    await expect(disconnecting).rejects.toThrow('the client disconnected');
    work.resolve('done');
    await expect(staying).resolves.toBe('done');
  });

  test('does not begin for a caller that has disconnected', async () => {
    caller.disconnect();
    await expect(awaitWithin(clock, call, Promise.resolve('done'))).rejects.toThrow('the client disconnected');
  });

  test.each([
    ['of a request', () => call],
    ['of the server', () => callUntil(3_000)],
  ])('ends at the deadline of a call %s', async (_, callOf) => {
    const waiting = awaitWithin(clock, callOf(), new Promise(() => {}));
    timers[0]?.ring();
    await expect(waiting).rejects.toThrow(DeadlineExceededError);
  });
});

test('work that rejects while the signal throws fails only its call', async () => {
  const broken = Object.defineProperty({ ...callUntil(2_000) }, 'signal', {
    get: () => {
      throw new Error('no signal');
    },
  });
  const work = Promise.reject(new Error('no work'));
  // Jest fails a test in which a rejection reaches the process.
  await expect(awaitWithin(clock, broken, work)).rejects.toThrow('no signal');
  await new Promise((resolve) => setImmediate(resolve));
});
