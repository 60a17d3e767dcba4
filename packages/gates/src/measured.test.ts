import { describe, expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import type { AccessDecision, AccessAttributes, UserInfo } from '@cluster-apiserver/model';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { samplesOf } from '@cluster-apiserver/testkit/exposition';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import {
  type Authorizer,
  type Credentials,
  createMeasuredAuthenticator,
  createMeasuredAuthorizer,
  TokenRejectedError,
} from './index.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const ann: UserInfo = { name: 'ann', groups: [] };
const rejected = new TokenRejectedError('no');

describe.each(['at once', 'later'])('what is known %s', (when) => {
  const given = <T>(value: T | Error): T | Promise<T> => {
    if (value instanceof Error) {
      if (when === 'at once') throw value;
      return Promise.reject(value);
    }
    return when === 'at once' ? value : Promise.resolve(value);
  };

  test.each([
    [ann, 'success', ['other']],
    [{ name: 'ann@example.com', groups: [] }, 'success', ['email_id']],
    [{ name: 'kubelet', groups: [] }, 'success', ['kubelet']],
    [undefined, 'failure', []],
    [rejected, 'error', []],
  ] as const)('is counted as an authentication (%#)', async (outcome, result, users) => {
    const clock = fakeClock();
    const metrics = createMetrics({ ofProcess: false });
    const inner = {
      authenticate: () => {
        clock.advance(2_000);
        return given<UserInfo | undefined>(outcome);
      },
    };
    const measured = createMeasuredAuthenticator(inner, clock, metrics);
    const found = await Promise.resolve()
      .then(() => measured.authenticate({} as Credentials, call))
      .catch((error: unknown) => error);
    expect(found).toBe(outcome);
    const labels = `result="${result}"`;
    expect(await samplesOf(metrics, 'authentication_attempts')).toEqual([[labels, 1]]);
    expect(await samplesOf(metrics, 'authentication_duration_seconds_sum')).toEqual([[labels, 2]]);
    expect(await samplesOf(metrics, 'authenticated_user_requests')).toEqual(
      users.map((name) => [`username="${name}"`, 1]),
    );
  });

  test.each([
    [{ verdict: 'allow' }, 'allowed'],
    [{ verdict: 'allow', error: new Error('of another') }, 'allowed'],
    [{ verdict: 'deny' }, 'denied'],
    [{ verdict: 'noOpinion' }, 'no-opinion'],
    [{ verdict: 'noOpinion', error: new Error('a webhook is away') }, 'error'],
    [{ verdict: 'notReady' }, 'error'],
  ] satisfies [AccessDecision, string][])('is counted as an authorization (%#)', async (decision, result) => {
    const clock = fakeClock();
    const metrics = createMetrics({ ofProcess: false });
    const inner = {
      authorize: () => {
        clock.advance(3_000);
        return given<AccessDecision>(decision);
      },
    };
    const measured = createMeasuredAuthorizer(inner, clock, metrics);
    expect(await measured.authorize({} as AccessAttributes, call)).toBe(decision);
    const labels = `result="${result}"`;
    expect(await samplesOf(metrics, 'authorization_attempts_total')).toEqual([[labels, 1]]);
    expect(await samplesOf(metrics, 'authorization_duration_seconds_sum')).toEqual([[labels, 3]]);
  });
});

test('rules are requested only from authorizers that can list them', async () => {
  const rules = { resource: [], nonResource: [], incomplete: false } as never;
  const authorize = (): AccessDecision => ({ verdict: 'deny' });
  const clock = fakeClock();
  const measured = (inner: Authorizer): Authorizer =>
    createMeasuredAuthorizer(inner, clock, createMetrics({ ofProcess: false }));
  expect(measured({ authorize }).rulesOf).toBeUndefined();
  expect(measured({ authorize, rulesOf: () => rules }).rulesOf?.(ann, 'n', call)).toBe(rules);
});
