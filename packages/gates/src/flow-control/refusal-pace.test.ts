import { beforeEach, expect, test } from '@jest/globals';
import { type Call, callUntil } from '@cluster-apiserver/base';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { RefusalPace } from './refusal-pace.ts';

let clock: FakeClock;
let pace: RefusalPace;
let answered: string[];
beforeEach(() => {
  clock = fakeClock();
  pace = new RefusalPace();
  answered = [];
});

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

function refuse(name: string, call: Call = callUntil(clock.monotonicMs() + 60_000)): void {
  const held = pace.hold(clock, call);
  if (held) void held.then(() => answered.push(name));
  else answered.push(name);
}
const refuseMany = (count: number): void => {
  for (let at = 0; at < count; at++) refuse(`${at}`);
};

test('some refusals are answered at once, and the others at a steady rate, in their order', async () => {
  refuseMany(350);
  const atOnce = answered.length;
  expect(atOnce).toBeGreaterThan(0);
  expect(pace.held).toBe(350 - atOnce);
  clock.advance(500);
  await settle();
  expect(answered.length).toBe(atOnce + 125);
  clock.advance(500);
  await settle();
  expect(answered).toEqual(Array.from({ length: 350 }, (_, at) => `${at}`));
  expect(pace.held).toBe(0);
});

test('after a quiet time they are answered at once again', async () => {
  refuseMany(350);
  clock.advance(10_000);
  await settle();
  answered = [];
  refuse('later');
  expect(answered).toEqual(['later']);
});

test('a refusal is held for five seconds at most, however many there are', async () => {
  refuseMany(3_000);
  clock.advance(5_000);
  await settle();
  expect(answered).toHaveLength(3_000);
});

test('the number of those that are held is bounded', () => {
  refuseMany(5_000);
  expect(pace.held).toBe(4_000);
  expect(answered).toHaveLength(1_000);
});

test('a refusal is answered before the deadline of its request, and is not held after its client has left', async () => {
  refuseMany(2_000);
  const before = pace.held;
  refuse('hurried', callUntil(clock.monotonicMs() + 10));
  const client = new AbortController();
  refuse('left', { ...callUntil(clock.monotonicMs() + 60_000), signal: client.signal });
  expect(pace.held).toBe(before + 2);
  clock.advance(10);
  client.abort(new Error('gone'));
  await settle();
  expect(answered).toEqual(expect.arrayContaining(['hurried', 'left']));
});
