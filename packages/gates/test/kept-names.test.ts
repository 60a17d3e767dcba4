/** Names that clients and backends choose outlive their requests only up to a bound in bytes. */
import { createMetrics } from '@cluster-apiserver/telemetry';
import { expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { createEventRateLimit } from '../src/admission/event-rate-limit.ts';
import { createSecretTokenMeasures } from '../src/authentication/service-account/secret-token-measures.ts';
import { requireExistingReferents } from '../src/authentication/service-account/service-account-tokens.ts';
import { CircuitBreaker } from '../src/authorization/webhook/circuit-breaker.ts';
import { createImpersonator } from '../src/impersonation/impersonator.ts';
import { contextOf } from './admission.ts';

const clock = fakeClock();
const call = callUntil(Number.POSITIVE_INFINITY);
const nameCharacters = 200_000;
const names = 300;
/** Of two bytes each. */
const grownBytesMax = 40 * nameCharacters * 2;

const impersonator = createImpersonator({ authorize: () => ({ verdict: 'allow' }) });
const breaker = new CircuitBreaker(clock);
const rateLimit = createEventRateLimit([{ type: 'User', qps: 1, burst: 1, cacheSize: 4_096 }], clock);
const accounts = requireExistingReferents(
  {
    authenticateToken: (token) => ({
      user: { name: 'robot', groups: [] },
      account: { namespace: 'team', name: token, uid: 'u' },
      secret: undefined,
    }),
  },
  {
    find: () => undefined,
    clock,
    noteUse: () => {},
    measures: createSecretTokenMeasures(createMetrics({ ofProcess: false })),
  },
);

test.each<[string, (name: string) => unknown]>([
  [
    'callers who impersonate',
    (name) =>
      impersonator(
        { name: 'other', uid: undefined, groups: [], extra: {} },
        { user: { name, groups: [] }, verb: 'get', path: '/', resource: undefined },
        call,
      ),
  ],
  [
    'users of webhooks that fail',
    (name) => {
      breaker.recordFailure(name);
    },
  ],
  [
    'writers of events',
    (name) =>
      rateLimit.validate?.(
        contextOf({
          resource: { ...contextOf().resource, group: '', plural: 'events', kind: 'Event' },
          user: { name, groups: [] },
          call: { ...call },
        }),
      ),
  ],
  [
    'accounts that do not exist',
    (name) => Promise.resolve(accounts.authenticateToken(name, call)).catch(() => {}), // the token is rejected
  ],
])('of %s', async (_, use) => {
  const before = usedHeapBytes();
  for (let at = 0; at < names; at++) await use(String(at).padEnd(nameCharacters, 'ñ'));
  // Short ones that are parts of long texts.
  for (let at = 0; at < names; at++) {
    const long = Buffer.from(String(at).padEnd(nameCharacters, 'ñ'), 'utf16le').toString('utf16le');
    await use(long.slice(0, 50));
  }
  expect(usedHeapBytes() - before).toBeLessThan(grownBytesMax);
});
