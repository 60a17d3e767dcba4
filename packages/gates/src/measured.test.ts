import { describe, expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import type { AccessDecision, AccessAttributes, UserInfo } from '@cluster-apiserver/model';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import {
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
    [ann, 'success', ann],
    [undefined, 'failure', undefined],
    [rejected, 'error', undefined],
  ] as const)('is counted as an authentication (%#)', async (outcome, result, user) => {
    const clock = fakeClock();
    const observed: unknown[] = [];
    const inner = {
      authenticate: () => {
        clock.advance(2_000);
        return given<UserInfo | undefined>(outcome);
      },
    };
    const measured = createMeasuredAuthenticator(inner, clock, (...all) => observed.push(all));
    const found = await Promise.resolve()
      .then(() => measured.authenticate({} as Credentials, call))
      .catch((error: unknown) => error);
    expect(found).toBe(outcome);
    expect(observed).toEqual([[result, 2, user]]);
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
    const observed: unknown[] = [];
    const inner = {
      authorize: () => {
        clock.advance(3_000);
        return given<AccessDecision>(decision);
      },
    };
    const measured = createMeasuredAuthorizer(inner, clock, (...all) => observed.push(all));
    expect(await measured.authorize({} as AccessAttributes, call)).toBe(decision);
    expect(observed).toEqual([[result, 3]]);
  });
});

test('rules are requested only from authorizers that can list them', async () => {
  const rules = { resource: [], nonResource: [], incomplete: false } as never;
  const authorize = (): AccessDecision => ({ verdict: 'deny' });
  const clock = fakeClock();
  expect(createMeasuredAuthorizer({ authorize }, clock, () => {}).rulesOf).toBeUndefined();
  expect(createMeasuredAuthorizer({ authorize, rulesOf: () => rules }, clock, () => {}).rulesOf?.(ann, 'n', call)).toBe(
    rules,
  );
});
