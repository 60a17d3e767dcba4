import { expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { parseStatus } from './access-review.ts';
import { DecisionCache } from './decision-cache.ts';

const answer = (reason: string) =>
  JSON.parse(
    JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      status: { allowed: false, denied: true, reason },
    }),
  );

test('reasons of webhooks are kept in part, without the answer that they are a part of', () => {
  const reasonBytes = 900_000;
  const cache = new DecisionCache({ clock: fakeClock(), authorizedTtlMs: 60_000, unauthorizedTtlMs: 60_000 });
  const before = usedHeapBytes();
  for (let decision = 0; decision < 200; decision++) {
    const { reason } = parseStatus(answer(String(decision).padEnd(reasonBytes, 'x')), 'v1');
    cache.set(`key ${decision}`, { verdict: 'deny', reason });
  }
  expect(usedHeapBytes() - before).toBeLessThan(10 * 1024 * 1024);
  expect(cache.get('key 0')?.reason).toHaveLength(4_096);
});

test('the memory for decisions is bounded', () => {
  const cache = new DecisionCache({ clock: fakeClock(), authorizedTtlMs: 60_000, unauthorizedTtlMs: 60_000 });
  const before = usedHeapBytes();
  for (let decision = 0; decision < 5_000; decision++)
    cache.set(`key ${decision}`.padEnd(9_000, 'k'), { verdict: 'deny', reason: `${decision}`.padEnd(4_000, 'r') });
  expect(usedHeapBytes() - before).toBeLessThan(20 * 1024 * 1024);
});
