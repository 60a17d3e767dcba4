import { beforeEach, describe, expect, test } from '@jest/globals';
import {
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
  readonly #controller = new AbortController();
  signals = 0;
  #listeners: (() => void)[] = [];

  get isAborted(): boolean {
    return this.#controller.signal.aborted;
  }
  get signal(): AbortSignal {
    this.signals++;
    return this.#controller.signal;
  }
  onEnd(listener: () => void): void {
    this.#listeners.push(listener);
  }
  disconnect(): void {
    this.#controller.abort(new Error('the client disconnected'));
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
    expect(withDeadline(callUntil(3_000), 2_000)).toEqual(callUntil(2_000));
  });

  test('no longer depends on its caller when it is detached', () => {
    caller.disconnect();
    expect(detach(call)).toEqual(callUntil(3_000));
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
