import { beforeEach, expect, test } from '@jest/globals';
import { type Caller, type Clock, LatencyTracker, RequestCall, systemClock, trackLatency } from './index.ts';

let nowMs: number;
let reads: number;
let tracker: LatencyTracker;
const clock: Clock = {
  ...systemClock,
  monotonicMs: () => {
    reads++;
    return nowMs;
  },
};
beforeEach(() => {
  nowMs = 1_000;
  reads = 0;
  tracker = new LatencyTracker(clock);
});

test('waits of one part add up, and overlapping ones count once', () => {
  tracker.begin('storage');
  nowMs += 10;
  tracker.begin('storage');
  nowMs += 10;
  tracker.end('storage');
  nowMs += 10;
  tracker.end('storage');
  nowMs += 100;
  tracker.begin('storage');
  nowMs += 1;
  tracker.end('storage');
  expect(tracker.totalMs('storage')).toBe(31);
  expect(tracker.totalMs('admission')).toBe(0);
  expect(tracker.sinceStartMs()).toBe(131);
});

test('overlapping waits count once across calls derived from one request', () => {
  const whole = new RequestCall({} as Caller, clock, 1_000, { latency: tracker }); // nothing else of the caller is used
  const part = whole.withDeadline(500).withDeadline(400);
  part.latency?.begin('webhooks');
  nowMs += 10;
  whole.latency?.begin('webhooks');
  nowMs += 20;
  part.latency?.end('webhooks');
  nowMs += 10;
  whole.latency?.end('webhooks');
  nowMs += 50;
  part.latency?.begin('webhooks');
  nowMs += 1;
  part.latency?.end('webhooks');
  expect(tracker.totalMs('webhooks')).toBe(41);
});

test('a result that is no promise took no wait and reads no clock', () => {
  const before = reads;
  expect(trackLatency(tracker, 'authorization', 'decision')).toBe('decision');
  expect(reads).toBe(before);
  expect(tracker.totalMs('authorization')).toBe(0);
});

test.each([
  ['succeeds', Promise.resolve('x'), { status: 'fulfilled', value: 'x' }],
  ['fails', Promise.reject(new Error('no')), { status: 'rejected', reason: new Error('no') }],
])('work that %s is measured, and its outcome is unchanged', async (_, work, outcome) => {
  const tracked = trackLatency(tracker, 'admission', work);
  nowMs += 5;
  expect(await Promise.allSettled([tracked])).toEqual([outcome]);
  nowMs += 5;
  expect(tracker.totalMs('admission')).toBe(5);
});

test('without a tracker the work is returned unchanged', () => {
  const work = Promise.resolve();
  expect(trackLatency(undefined, 'storage', work)).toBe(work);
});
