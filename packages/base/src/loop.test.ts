import { describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from './clock.ts';
import { iterationMs, type LaneName, loopOf } from './loop.ts';

/** A clock that `spend` advances; an iteration of the event loop is a call. */
function manualLoop() {
  let ms = 0;
  const soon: (() => void)[] = [];
  const timers: { readonly delayMs: number; readonly callback: () => void }[] = [];
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => ms,
    soon: (callback) => void soon.push(callback),
    after: (delayMs, callback) => {
      timers.push({ delayMs, callback });
      return () => {};
    },
  };
  const iterate = (tookMs = 0): void => {
    ms += tookMs;
    for (const callback of soon.splice(0)) callback();
  };
  return {
    loop: loopOf(clock),
    clock,
    nowMs: () => ms,
    spend: (milliseconds: number) => void (ms += milliseconds),
    iterate,
    /** Iterates until long work has saved up for its next slice. */
    nextSlice: async () => {
      for (let count = 0; count < 4; count++) iterate();
      await Promise.resolve();
    },
    isIdle: () => soon.length === 0,
    /** Ends all rests; returns how long they were to last. */
    endRests: () =>
      timers.splice(0).map(({ delayMs, callback }) => {
        callback();
        return delayMs;
      }),
  };
}

describe('long work', () => {
  test('of several milliseconds gets one slice each, in order', async () => {
    const { loop, spend, nextSlice } = manualLoop();
    const done: string[] = [];
    for (const name of ['a', 'b', 'c'])
      void loop.schedule(() => {
        spend(5);
        done.push(name);
      });
    expect(done).toEqual([]);
    for (const expected of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      await nextSlice();
      expect(done).toEqual(expected);
    }
  });

  test('that is short shares a slice, except what is queued meanwhile', async () => {
    const { loop, spend, iterate, isIdle } = manualLoop();
    let done = 0;
    const again = (): void => {
      spend(0.1);
      done++;
      if (done < 40) void loop.schedule(again);
    };
    for (let i = 0; i < 10; i++) void loop.schedule(again);
    iterate();
    expect(done).toBe(10);
    while (!isIdle()) iterate();
    expect(done).toBeGreaterThanOrEqual(40);
  });

  test('learns when it should yield', async () => {
    const { loop, spend, iterate } = manualLoop();
    let steps = 0;
    const taken = loop.schedule((isOver) => {
      while (!isOver()) {
        spend(1);
        steps++;
      }
      return 'done';
    });
    iterate();
    expect(await taken).toBe('done');
    expect(steps).toBe(4);
  });

  test('that is alone runs at once, and much at the same moment spreads over slices', async () => {
    const { loop, spend, nextSlice, isIdle } = manualLoop();
    const done: number[] = [];
    const take = (at: number): number | Promise<number> =>
      loop.runOrSchedule(() => {
        spend(1);
        return done.push(at);
      });
    expect(take(0)).toBe(1);
    await nextSlice();
    expect(isIdle()).toBe(true);
    for (let at = 1; at <= 10; at++) void take(at);
    expect(done.length).toBe(5);
    const counts: number[] = [];
    while (done.length < 11) {
      await nextSlice();
      counts.push(done.length);
    }
    expect(counts).toEqual([9, 11]);
    expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test('has a bounded number of tasks in a slice, however short they are', async () => {
    const { loop, nextSlice } = manualLoop();
    let done = 0;
    const counts: number[] = [];
    for (let at = 0; at < 100; at++) void loop.runOrSchedule(() => done++);
    counts.push(done);
    while (done < 100) {
      await nextSlice();
      counts.push(done);
    }
    expect(counts).toEqual([32, 64, 96, 100]);
  });

  test('that could run at once waits for what was queued before it', () => {
    const { loop, iterate } = manualLoop();
    const done: string[] = [];
    void loop.schedule(() => done.push('first'));
    void loop.runOrSchedule(() => done.push('second'));
    expect(done).toEqual([]);
    iterate();
    expect(done).toEqual(['first', 'second']);
  });

  test('that fails rejects its caller, and the next one runs', async () => {
    const { loop, iterate } = manualLoop();
    const broken = loop.schedule(() => {
      throw new Error('broken');
    });
    const next = loop.schedule(() => 1);
    const both = Promise.allSettled([broken, next]);
    iterate();
    expect(await both).toEqual([
      { status: 'rejected', reason: new Error('broken') },
      { status: 'fulfilled', value: 1 },
    ]);
  });
});

test('a clock has one loop, which schedules nothing while there is nothing to do', () => {
  const { loop, clock, isIdle } = manualLoop();
  expect(loopOf(clock)).toBe(loop);
  expect(loopOf({ ...clock })).not.toBe(loop);
  expect(isIdle()).toBe(true);
});

describe('a loop over what arrives', () => {
  test('has time that includes the work of its source', () => {
    const { loop, spend } = manualLoop();
    let items = 0;
    while (loop.hasTime('feed')) {
      spend(1);
      items++;
    }
    expect(items).toBe(4);
  });

  test('has a whole turn after it has waited for one, and in each iteration', async () => {
    const { loop, spend, iterate } = manualLoop();
    expect(loop.hasTime('feed')).toBe(true);
    spend(5);
    expect(loop.hasTime('feed')).toBe(false);
    const turn = loop.turn('feed');
    iterate();
    await turn;
    spend(3);
    expect(loop.hasTime('feed')).toBe(true);
    iterate();
    expect(loop.hasTime('feed')).toBe(true);
    spend(3);
    expect(loop.hasTime('feed')).toBe(true);
  });
});

describe('steps that cost more than they take', () => {
  test('run at once if they are alone', () => {
    const { loop, iterate, isIdle } = manualLoop();
    let begun = 0;
    for (let expected = 1; expected <= 3; expected++) {
      loop.runOrQueue('begin', () => begun++, 1);
      expect(begun).toBe(expected);
      iterate();
      iterate();
      expect(isIdle()).toBe(true);
    }
  });

  test('beyond the limit run in the next iterations, in order', () => {
    const { loop, iterate } = manualLoop();
    const begun: number[] = [];
    const counts: number[] = [];
    for (let at = 0; at < 10; at++) loop.runOrQueue('close', () => begun.push(at), 1.25);
    counts.push(begun.length);
    while (begun.length < 10) {
      iterate();
      counts.push(begun.length);
    }
    expect(counts).toEqual([4, 8, 10]);
    expect(begun).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test('have what the lane has saved at once, and what it gets in each iteration while some wait', async () => {
    const { loop, iterate } = manualLoop();
    let begun = 0;
    const counts: number[] = [];
    for (let at = 0; at < 16; at++) void (loop.turn('piece', 1)?.then(() => begun++) ?? begun++);
    counts.push(begun);
    while (begun < 16) {
      iterate();
      await Promise.resolve();
      counts.push(begun);
    }
    expect(counts).toEqual([10, 12, 14, 16]);
  });

  test('rest for twice as long after a long iteration, if they wait', () => {
    const { loop, iterate, endRests } = manualLoop();
    const begun: string[] = [];
    for (const name of ['a', 'b', 'c', 'd']) loop.runOrQueue('begin', () => begun.push(name), 1);
    iterate(5);
    expect(begun).toEqual(['a', 'b']);
    iterate(11);
    loop.runOrQueue('begin', () => begun.push('e'), 1);
    iterate();
    expect(begun).toEqual(['a', 'b']);
    expect(endRests()).toEqual([22]);
    iterate();
    expect([begun, endRests()]).toEqual([['a', 'b', 'c', 'd'], []]);
    iterate(60_000);
    expect(endRests()).toEqual([50]);
    expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('rest until then if they are to', () => {
    const { loop, spend, iterate, endRests } = manualLoop();
    const done: string[] = [];
    loop.queueAfterRest('watch', () => done.push('rested'), 7);
    spend(7);
    loop.queueAfterRest('watch', () => done.push('at once'), 7);
    iterate();
    expect(done).toEqual(['at once']);
    expect(endRests()).toEqual([7]);
    iterate();
    expect(done).toEqual(['at once', 'rested']);
  });

  test('do not rest if none waits', () => {
    const { loop, iterate, endRests } = manualLoop();
    let begun = 0;
    for (let expected = 1; expected <= 3; expected++) {
      loop.runOrQueue('accept', () => begun++, 1);
      expect(begun).toBe(expected);
      iterate(100);
      iterate(100);
      expect(endRests()).toEqual([]);
    }
  });

  test('run even if one exceeds the limit, and it is the last of its iteration', () => {
    const { loop, iterate } = manualLoop();
    const begun: string[] = [];
    for (const name of ['a', 'b', 'c']) loop.runOrQueue('close', () => begun.push(name), 100);
    expect(begun).toEqual(['a']);
    iterate();
    expect(begun).toEqual(['a', 'b']);
  });

  test('wait behind earlier ones', () => {
    const { loop, iterate } = manualLoop();
    const begun: string[] = [];
    for (const name of ['a', 'b', 'c']) loop.runOrQueue('accept', () => begun.push(name), 1);
    iterate();
    loop.runOrQueue('accept', () => begun.push('d'), 1);
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    loop.runOrQueue('accept', () => begun.push('e'), 1);
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });
});

/** By default one request is served in each iteration of the event loop. */
function requestsByHand({ requestMs = 1_000 } = {}) {
  const { loop, spend, iterate } = manualLoop();
  const served: string[] = [];
  const connections = new Map<string, object>();
  return {
    served,
    arrive: (name: string) => {
      const connection = connections.get(name) ?? {};
      connections.set(name, connection);
      const serve = (): void => {
        served.push(name);
        spend(requestMs);
      };
      loop.queue('request', serve, connection);
    },
    /** `otherMs` is how long everything else takes in this iteration. */
    iterate: (otherMs = 0) => {
      iterate();
      spend(otherMs);
    },
  };
}

describe('requests', () => {
  test('of a client with few are served before the backlogs of others', () => {
    const { served, arrive, iterate } = requestsByHand();
    const greedy = Array.from({ length: 25 }, (_, at) => `greedy-${at}`);
    for (const name of greedy) for (let count = 0; count < 100; count++) arrive(name);
    iterate();
    arrive('polite');
    arrive('polite');
    for (let count = 0; count < 4; count++) iterate();
    expect(served.filter((name) => name === 'polite')).toHaveLength(2);
  });

  test('of a client with few are served before a backlog that arrived in the same iteration', () => {
    const { served, arrive, iterate } = requestsByHand();
    for (let count = 0; count < 100; count++) arrive('greedy');
    arrive('polite');
    iterate();
    expect(served).toEqual(['polite']);
  });

  test('of a client with many keep their share beside clients with few', () => {
    const { served, arrive, iterate } = requestsByHand();
    for (let count = 0; count < 100; count++) arrive('greedy');
    iterate();
    for (let count = 0; count < 20; count++) {
      for (const name of ['a', 'b', 'c']) arrive(name);
      iterate();
    }
    expect(served.slice(1).filter((name) => name === 'greedy').length).toBeGreaterThanOrEqual(4);
  });

  test('are fewer in long iterations with a backlog, and as many as usual in the next one without', () => {
    const { served, arrive, iterate } = requestsByHand({ requestMs: 0.125 });
    const countServed = (otherMs: number): number => {
      const before = served.length;
      iterate(otherMs);
      return served.length - before;
    };
    for (let count = 0; count < 50; count++) arrive('greedy');
    const usual = countServed(0);
    expect(usual).toBe(16);
    expect(countServed(30)).toBe(usual);
    const fewer = countServed(30);
    expect(fewer).toBeGreaterThan(0);
    expect(fewer).toBeLessThan(usual / 2);
    while (served.length < 50) iterate();
    for (let count = 0; count < 50; count++) arrive('greedy');
    expect(countServed(0)).toBe(usual);
  });
});

test('all loads at once are admitted for a bounded time in each iteration, and each of them makes progress', async () => {
  const { loop, nowMs, spend, iterate, endRests } = manualLoop();
  const stepMs = 0.5;
  const done = new Map<string, number>();
  /** Each step that has run brings another one. */
  const step = (name: string) => (): void => {
    spend(stepMs);
    done.set(name, (done.get(name) ?? 0) + 1);
  };
  const refill = (lane: LaneName, costMs = 0): void => {
    const owner = {};
    const again = (): void => {
      step(lane)();
      loop.queue(lane, again, owner, costMs);
    };
    loop.queue(lane, again, owner, costMs);
  };
  // Floods of requests with large lists, thousands of watchers, handshakes, closes, and slow readers.
  for (let client = 0; client < 500; client++) {
    refill('request');
    refill('response');
    refill('watch');
    refill('accept', 1);
    refill('begin', 1);
    refill('close', 5);
    refill('piece', 0.5);
    refill('feed');
    refill('write');
  }
  const list = (): void => {
    void loop.schedule((shouldYield) => {
      do step('bulk')();
      while (!shouldYield());
      list();
    });
  };
  for (let client = 0; client < 500; client++) list();
  for (let count = 0; count < 400; count++) {
    const beganMs = nowMs();
    // What the callbacks of Node before the next iteration may begin at once.
    for (const lane of ['feed', 'watch'] as const) while (loop.hasTime(lane)) step(lane)();
    while (!loop.isLate) step('task')();
    iterate();
    expect(nowMs() - beganMs).toBeLessThanOrEqual(2 * iterationMs + stepMs);
    endRests();
  }
  for (const lane of ['request', 'response', 'accept', 'begin', 'close', 'piece', 'feed', 'watch', 'write', 'bulk'])
    expect([lane, done.get(lane)]).toEqual([lane, expect.any(Number)]);
  // The lanes have shares of about the same size: none takes all of the time from another.
  expect(done.get('request')).toBeGreaterThan(20);
  expect(done.get('bulk')).toBeGreaterThan(20);
  await Promise.resolve();
});
