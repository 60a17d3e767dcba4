import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { RequestScheduler } from './request-scheduler.ts';
import type { SocketRequest } from './request/socket-request.ts';

/** By default it serves one request per iteration of the event loop. */
function scheduleByHand({ requestMs = 1_000 } = {}) {
  let nowMs = 0;
  const soon: (() => void)[] = [];
  const served: string[] = [];
  const clock = { ...systemClock, monotonicMs: () => nowMs, soon: (callback: () => void) => void soon.push(callback) };
  const connections = new Map<string, object>();
  const scheduler = new RequestScheduler(clock, ({ target }) => {
    served.push(target);
    nowMs += requestMs;
  });
  return {
    served,
    arrive: (target: string) => {
      const connection = connections.get(target) ?? {};
      connections.set(target, connection);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the scheduler reads nothing else before the response
      scheduler.scheduleRequest({ target, connection } as unknown as SocketRequest);
    },
    /** `otherMs` is how long everything else takes in this iteration. */
    iterate: (otherMs = 0) => {
      for (const callback of soon.splice(0)) callback();
      nowMs += otherMs;
    },
  };
}

test('a client with few requests is served before the backlogs of others', () => {
  const { served, arrive, iterate } = scheduleByHand();
  const greedy = Array.from({ length: 25 }, (_, at) => `greedy-${at}`);
  for (const target of greedy) for (let count = 0; count < 100; count++) arrive(target);
  iterate();
  arrive('polite');
  arrive('polite');
  for (let count = 0; count < 4; count++) iterate();
  expect(served.filter((target) => target === 'polite')).toHaveLength(2);
});

test('a client with few requests is served before a backlog that arrived in the same iteration', () => {
  const { served, arrive, iterate } = scheduleByHand();
  for (let count = 0; count < 100; count++) arrive('greedy');
  arrive('polite');
  iterate();
  expect(served).toEqual(['polite']);
});

test('a client with many requests keeps its share beside clients with few', () => {
  const { served, arrive, iterate } = scheduleByHand();
  for (let count = 0; count < 100; count++) arrive('greedy');
  iterate();
  for (let count = 0; count < 20; count++) {
    for (const name of ['a', 'b', 'c']) arrive(name);
    iterate();
  }
  expect(served.slice(1).filter((target) => target === 'greedy').length).toBeGreaterThanOrEqual(4);
});

test('long iterations take fewer requests of a backlog, and the next one without a backlog takes as many as usual', () => {
  const { served, arrive, iterate } = scheduleByHand({ requestMs: 0.125 });
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
