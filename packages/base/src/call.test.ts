import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  type Caller,
  callUntil,
  DeadlineExceededError,
  detached,
  RequestCall,
  throwIfAborted,
  withDeadline,
  withinCall,
} from './call.ts';
import { type Clock, systemClock } from './clock.ts';

let timers: { readonly delayMs: number; readonly ring: () => void }[];
const clock: Clock = {
  ...systemClock,
  monotonicMs: () => 1_000,
  after: (delayMs, ring) => {
    const timer = { delayMs, ring };
    timers.push(timer);
    return () => {
      timers = timers.filter((other) => other !== timer);
    };
  },
};

class TestCaller implements Caller {
  readonly #gone = new AbortController();
  signals = 0;
  #listeners: (() => void)[] = [];

  get isAborted(): boolean {
    return this.#gone.signal.aborted;
  }
  get signal(): AbortSignal {
    this.signals++;
    return this.#gone.signal;
  }
  onEnd(listener: () => void): void {
    this.#listeners.push(listener);
  }
  leave(): void {
    this.#gone.abort(new Error('the client left'));
    this.answered();
  }
  answered(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

let caller: TestCaller;
let call: RequestCall;
beforeEach(() => {
  timers = [];
  caller = new TestCaller();
  call = new RequestCall(caller, clock, 3_000);
});

describe('The call of a request', () => {
  test('makes neither a signal nor a timer for those who do not ask', () => {
    expect(call.isAborted).toBe(false);
    throwIfAborted(call);
    expect(caller.signals).toBe(0);
    expect(timers).toEqual([]);
  });

  test('gives the same signal each time', () => {
    expect(call.signal).toBe(call.signal);
    expect(timers).toHaveLength(1);
  });

  test('aborts when its caller leaves, with his reason', () => {
    const { signal } = call;
    caller.leave();
    expect(signal.aborted).toBe(true);
    expect(call.isAborted).toBe(true);
    expect(() => throwIfAborted(call)).toThrow('the client left');
  });

  test('is aborted for those who ask after its caller has left', () => {
    caller.leave();
    expect(call.signal.aborted).toBe(true);
  });

  test('aborts at its deadline', () => {
    const { signal } = call;
    expect(timers.map(({ delayMs }) => delayMs)).toEqual([2_000]);
    timers[0]?.ring();
    expect(signal.reason).toBeInstanceOf(DeadlineExceededError);
    expect(call.isAborted).toBe(true);
  });

  test('leaves no timer behind once it was answered', () => {
    expect(call.signal.aborted).toBe(false);
    caller.answered();
    expect(timers).toEqual([]);
  });

  test('can have less time for a part of its work, and never more', () => {
    expect(withDeadline(call, 2_000).deadlineMs).toBe(2_000);
    expect(withDeadline(call, 9_000).deadlineMs).toBe(3_000);
    const part = withDeadline(call, 2_000);
    caller.leave();
    expect(part.isAborted).toBe(true);
    expect(withDeadline(callUntil(3_000), 2_000)).toEqual(callUntil(2_000));
  });

  test('knows nobody who could leave when it is detached', () => {
    caller.leave();
    expect(detached(call)).toEqual(callUntil(3_000));
  });
});

describe('Waiting for shared work', () => {
  test('gives what the work comes to', async () => {
    await expect(withinCall(clock, call, Promise.resolve('done'))).resolves.toBe('done');
    await expect(withinCall(clock, call, Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    await expect(withinCall(clock, callUntil(3_000), Promise.resolve('done'))).resolves.toBe('done');
    caller.answered();
    expect(timers).toEqual([]);
  });

  test('ends for the caller who leaves and goes on for the others', async () => {
    const work = Promise.withResolvers<string>();
    const leaving = withinCall(clock, call, work.promise);
    const staying = withinCall(clock, callUntil(Number.POSITIVE_INFINITY), work.promise);
    caller.leave();
    await expect(leaving).rejects.toThrow('the client left');
    work.resolve('done');
    await expect(staying).resolves.toBe('done');
  });

  test('does not begin for a caller who has left', async () => {
    caller.leave();
    await expect(withinCall(clock, call, Promise.resolve('done'))).rejects.toThrow('the client left');
  });

  test.each([
    ['of a request', () => call],
    ['of the server', () => callUntil(3_000)],
  ])('ends at the deadline of a call %s', async (_, callOf) => {
    const waiting = withinCall(clock, callOf(), new Promise(() => {}));
    timers[0]?.ring();
    await expect(waiting).rejects.toThrow(DeadlineExceededError);
  });
});

test('work that fails while the call cannot be followed ends nothing but its call', async () => {
  const broken = Object.defineProperty({ ...callUntil(2_000) }, 'signal', {
    get: () => {
      throw new Error('no signal');
    },
  });
  const work = Promise.reject(new Error('no work'));
  // Jest fails a test in which a rejection reaches the process.
  await expect(withinCall(clock, broken, work)).rejects.toThrow('no signal');
  await new Promise((resolve) => setImmediate(resolve));
});
