import { expect, test } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { EtcdClient } from './client.ts';
import { SharedLeases } from './leases.ts';
import { EtcdFault } from './transport.ts';

test('without a majority each caller fails in its own time, also if a later one requests the lease', async () => {
  const clock = fakeClock();
  const client = new EtcdClient({
    endpoints: ['http://one', 'http://two'],
    connect: () => ({
      unary: (_, __, { timeoutMs }) =>
        new Promise((_, reject) => clock.after(timeoutMs, () => reject(new EtcdFault('lost', 14, 'it is silent')))),
      openStream: () => ({ send: () => {}, messages: (async function* () {})(), close: () => {} }),
      connectionNumber: 1,
      close: () => {},
    }),
    clock,
    random: seededRandom(1),
  });
  const leases = new SharedLeases(client);
  const beganMs = clock.monotonicMs();
  const tookMs: number[] = [];
  const call = callUntil(Number.POSITIVE_INFINITY);
  for (let passedMs = 0; passedMs < 6_000; passedMs += 10) {
    // Whenever a grant fails, the latest caller may be the one that requests the next.
    if (passedMs % 70 === 0 && passedMs < 4_000)
      leases.acquire(60, call).catch(() => tookMs.push(clock.monotonicMs() - beganMs - passedMs));
    clock.advance(10);
    for (let turns = 0; turns < 3; turns++) await new Promise(setImmediate);
  }
  expect(tookMs.length).toBe(58);
  expect(Math.max(...tookMs)).toBeLessThan(2_000);
  client.close();
});
