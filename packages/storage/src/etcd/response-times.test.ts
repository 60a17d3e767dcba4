import { expect, test } from '@jest/globals';
import { ResponseTimes } from './response-times.ts';

const respond = (times: ResponseTimes, count: number, afterMs: number, nowMs = 0): void => {
  for (let at = 0; at < count; at++) times.note(afterMs, nowMs);
};

test('the timeout follows slow responses at once, and quick ones soon', () => {
  const times = new ResponseTimes(100, 3_000);
  expect(times.timeoutMs).toBe(100);
  times.note(400, 0);
  expect(times.timeoutMs).toBe(800);
  times.note(10_000, 0);
  expect(times.timeoutMs).toBe(3_000);
  respond(times, 100, 5);
  expect(times.timeoutMs).toBe(100);
});

test('responses that take longer than the shortest ones are congested', () => {
  const times = new ResponseTimes(100, 3_000);
  expect(times.congestion).toBe(1);
  respond(times, 100, 2);
  expect(times.congestion).toBeCloseTo(1);
  respond(times, 200, 20);
  expect(times.congestion).toBeCloseTo(10, 1);
  respond(times, 200, 2);
  expect(times.congestion).toBeCloseTo(1, 1);
});

test('a disk that has become slow is no congestion after two periods', () => {
  const times = new ResponseTimes(100, 3_000);
  respond(times, 100, 2);
  respond(times, 100, 200, 31_000);
  expect(times.congestion).toBeGreaterThan(50);
  respond(times, 100, 200, 62_000);
  expect(times.congestion).toBeCloseTo(1);
});

test('times below a millisecond are no queue', () => {
  const times = new ResponseTimes(100, 3_000);
  respond(times, 100, 0.1);
  respond(times, 100, 0.9);
  expect(times.congestion).toBe(1);
});
