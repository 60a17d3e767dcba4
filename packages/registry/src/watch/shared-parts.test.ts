import { expect, test } from '@jest/globals';
import type { Clock } from '@cluster-apiserver/base';
import { type Part, SharedParts } from './shared-parts.ts';

/** Timers are called by hand, and may be counted. */
function timersByHand() {
  let nowMs = 0;
  let timers: { readonly atMs: number; readonly act: () => void }[] = [];
  const clock: Clock = {
    now: () => nowMs,
    monotonicMs: () => nowMs,
    soon: setImmediate,
    microtask: queueMicrotask,
    after: (delayMs, act) => {
      timers.push({ atMs: nowMs + delayMs, act });
      return () => {};
    },
  };
  return {
    clock,
    waiting: () => timers.length,
    advance: (ms: number) => {
      nowMs += ms;
      const due = timers.filter(({ atMs }) => atMs <= nowMs);
      timers = timers.filter(({ atMs }) => atMs > nowMs);
      for (const { act } of due) act();
    },
  };
}
const part = (): Part => ({ batches: [] });

test('watchers that take a part of the same name within a second share it', () => {
  const { clock, advance } = timersByHand();
  const parts = new SharedParts<Part>(clock);
  const first = parts.getOrBuild('a', part);
  advance(999);
  expect(parts.getOrBuild('a', part)).toBe(first);
  advance(1);
  expect(parts.getOrBuild('a', part)).not.toBe(first);
});

test('parts are dropped when no watcher takes any more, and no timer stays', () => {
  const { clock, advance, waiting } = timersByHand();
  const parts = new SharedParts<Part>(clock);
  parts.getOrBuild('a', part);
  advance(900);
  parts.getOrBuild('b', part);
  advance(100); // a is a second old, b is not
  expect(waiting()).toBe(1);
  advance(1_000);
  expect(waiting()).toBe(0);
});
