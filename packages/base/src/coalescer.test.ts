import { expect, test } from '@jest/globals';
import { systemClock } from './clock.ts';
import { Coalescer, coalescingMs } from './coalescer.ts';

/** Callbacks run when the test says so. */
function byHand() {
  let nowMs = 0;
  const soon: (() => void)[] = [];
  const microtasks: (() => void)[] = [];
  const clock = {
    ...systemClock,
    monotonicMs: () => nowMs,
    soon: (callback: () => void) => void soon.push(callback),
    microtask: (callback: () => void) => void microtasks.push(callback),
  };
  let runs = 0;
  const runAll = (queue: (() => void)[]): void => {
    for (const callback of queue.splice(0)) callback();
  };
  return {
    coalescer: new Coalescer(clock, () => runs++),
    advance: (ms: number) => (nowMs += ms),
    endCallback: () => runAll(microtasks),
    nextIteration: () => runAll(soon),
    runs: () => runs,
  };
}

test('the first requests run together after the current callback', () => {
  const { coalescer, endCallback, nextIteration, runs } = byHand();
  coalescer.request();
  coalescer.request();
  expect(runs()).toBe(0);
  endCallback();
  expect(runs()).toBe(1);
  nextIteration();
  expect(runs()).toBe(1);
});

test('requests shortly after a run wait for the next iteration, and later ones do not', () => {
  const { coalescer, advance, endCallback, nextIteration, runs } = byHand();
  coalescer.request();
  endCallback();
  advance(coalescingMs - 1);
  coalescer.request();
  endCallback();
  coalescer.request();
  expect(runs()).toBe(1);
  nextIteration();
  expect(runs()).toBe(2);
  advance(coalescingMs);
  coalescer.request();
  endCallback();
  expect(runs()).toBe(3);
});
