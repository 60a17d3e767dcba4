import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { StallAwareClock } from './stall-aware-clock.ts';

function timeByHand(): { readonly time: StallAwareClock; pass(ms: number): void } {
  let clockMs = 1_000;
  return {
    time: new StallAwareClock({ ...systemClock, monotonicMs: () => clockMs }),
    pass: (ms) => void (clockMs += ms),
  };
}

test('the time of a stall does not count, however many timers report it', () => {
  const { time, pass } = timeByHand();
  const beganMs = time.nowMs();
  pass(10);
  const dues = [time.nowMs() + 20, time.nowMs() + 50];
  pass(5_000);
  for (const due of dues) time.noteTimerFired(due);
  // Between the first due and now it stood still: the later due lay in that time.
  expect(time.nowMs() - beganMs).toBe(10 + 20);
  pass(7);
  expect(time.nowMs() - beganMs).toBe(10 + 20 + 7);
});

test('timers that are in time or slightly late are no stall', () => {
  const { time, pass } = timeByHand();
  const beganMs = time.nowMs();
  pass(120);
  time.noteTimerFired(beganMs + 30);
  time.noteTimerFired(beganMs + 120);
  time.noteTimerFired(beganMs + 500);
  expect(time.nowMs() - beganMs).toBe(120);
});
