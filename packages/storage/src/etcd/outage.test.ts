import { expect, test } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { OutageTracker } from './outage.ts';

test('one probe runs, however often the outage has ended and begun again', async () => {
  const clock = fakeClock();
  const running = new Set<PromiseWithResolvers<void>>();
  const probe = (): Promise<void> => {
    const one = Promise.withResolvers<void>();
    running.add(one);
    return one.promise.finally(() => running.delete(one));
  };
  const outage = new OutageTracker({ clock, random: seededRandom(1), report: () => {}, probe, failsAtOnce: false });
  const failAll = async (): Promise<void> => {
    for (const one of running) one.reject(new Error('no quorum'));
    await new Promise(setImmediate);
    clock.advance(150);
    await new Promise(setImmediate);
  };
  for (let n = 0; n < 10; n++) {
    outage.begin(new Error('no quorum'));
    if (n < 9) outage.end();
  }
  await failAll();
  expect(running.size).toBe(1);
  for (let n = 0; n < 10; n++) {
    outage.end();
    outage.begin(new Error('no quorum'));
    await failAll();
  }
  expect(running.size).toBe(1);
  for (const one of running) one.resolve();
  await new Promise(setImmediate);
  expect([outage.isActive, running.size, clock.waiting]).toEqual([false, 0, 0]);
});

test.each([
  ['wait briefly for the end of an outage', false],
  ['fail at once', true],
])('calls %s', async (_, failsAtOnce) => {
  const clock = fakeClock();
  const probe = (): Promise<void> => new Promise(() => {});
  const outage = new OutageTracker({ clock, random: seededRandom(1), report: () => {}, probe, failsAtOnce });
  outage.begin(new Error('no quorum'));
  const waiting = outage.waitBriefly(callUntil(Number.POSITIVE_INFINITY));
  if (failsAtOnce) await expect(waiting).rejects.toThrow('etcd has no quorum');
  outage.end();
  if (!failsAtOnce) await waiting;
});
