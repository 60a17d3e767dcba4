import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { RequestScheduler } from './request-scheduler.ts';
import type { SocketRequest } from './request/socket-request.ts';

/** Serves one request per iteration of the event loop. */
function scheduleByHand() {
  let nowMs = 0;
  const soon: (() => void)[] = [];
  const served: string[] = [];
  const clock = { ...systemClock, monotonicMs: () => nowMs, soon: (callback: () => void) => void soon.push(callback) };
  const connections = new Map<string, object>();
  const scheduler = new RequestScheduler(clock, ({ target }) => {
    served.push(target);
    nowMs += 1_000;
  });
  return {
    served,
    arrive: (target: string) => {
      const connection = connections.get(target) ?? {};
      connections.set(target, connection);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the scheduler reads nothing else before the response
      scheduler.scheduleRequest({ target, connection } as unknown as SocketRequest);
    },
    iterate: () => {
      for (const callback of soon.splice(0)) callback();
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

test('responses that become ready by one event are sent before the next iteration, later ones of it are not', () => {
  const soon: (() => void)[] = [];
  const microtasks: (() => void)[] = [];
  const clock = {
    ...systemClock,
    monotonicMs: () => 0,
    soon: (callback: () => void) => void soon.push(callback),
    microtask: (callback: () => void) => void microtasks.push(callback),
  };
  const scheduler = new RequestScheduler(clock, () => {});
  const sent: string[] = [];
  const connection = {};
  const becomeReady = (target: string): void => {
    const request = { connection, respond: () => void sent.push(target) };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the scheduler reads nothing else
    scheduler.scheduleResponse(request as unknown as SocketRequest, { status: 200, headers: {}, body: '' });
  };
  const runAll = (queue: (() => void)[]): void => {
    for (const callback of queue.splice(0)) callback();
  };
  for (const target of ['a', 'b']) becomeReady(target);
  expect(sent).toEqual([]);
  runAll(microtasks);
  expect(sent).toEqual(['a', 'b']);
  becomeReady('c');
  runAll(microtasks);
  expect(sent).toEqual(['a', 'b']);
  runAll(soon);
  becomeReady('d');
  runAll(microtasks);
  expect(sent).toEqual(['a', 'b', 'c', 'd']);
});
