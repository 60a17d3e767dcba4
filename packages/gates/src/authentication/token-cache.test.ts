import { beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import { createMetrics, type Metrics } from '@cluster-apiserver/telemetry';
import { samplesOf } from '@cluster-apiserver/testkit/exposition';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { createTokenCaches } from './token-cache.ts';
import type { TokenAnswer, TokenAuthenticator } from './token-authenticator.ts';
import { TokenRejectedError } from './token-rejected-error.ts';

const call = callUntil(Number.POSITIVE_INFINITY);

const startMs = 1_000_000;
let clock: FakeClock;
let looked: string[];
let metrics: Metrics;
let answers: (token: string) => TokenAnswer | undefined | Promise<TokenAnswer | undefined>;
let tokens: TokenAuthenticator;

const userOf = (token: string, expiresAtMs?: number): TokenAnswer => ({
  user: { name: token, groups: [] },
  expiresAtMs,
});

beforeEach(() => {
  clock = fakeClock(startMs);
  looked = [];
  metrics = createMetrics({ ofProcess: false });
  answers = async (token) => userOf(token);
  const inner: TokenAuthenticator = {
    authenticateToken: (token, _, audiences) => {
      looked.push(audiences ? JSON.stringify([token, audiences]) : token);
      return answers(token);
    },
  };
  tokens = createTokenCaches(clock, seededRandom(1), metrics)(inner, 10_000);
});

test('a token is authenticated once per TTL', async () => {
  for (const [moveMs, times] of [
    [0, 1],
    [9_999, 1],
    [1, 2],
  ] as const) {
    clock.advance(moveMs);
    expect(await tokens.authenticateToken('a', call)).toEqual(userOf('a'));
    expect(looked).toHaveLength(times);
  }
  expect(await samplesOf(metrics, 'authentication_token_cache_request_total')).toEqual([
    ['status="hit"', 1],
    ['status="miss"', 2],
  ]);
});

test('a cached answer is returned synchronously', async () => {
  await tokens.authenticateToken('a', call);
  expect(tokens.authenticateToken('a', call)).toEqual(userOf('a'));
});

test('an answer is not cached beyond the expiry of its token', async () => {
  answers = async (token) => (clock.now() < startMs + 3_000 ? userOf(token, startMs + 3_000) : undefined);
  expect(await tokens.authenticateToken('a', call)).toBeDefined();
  clock.advance(2_999);
  expect(await tokens.authenticateToken('a', call)).toBeDefined();
  clock.advance(1);
  expect(await tokens.authenticateToken('a', call)).toBeUndefined();
});

test('concurrent requests share one lookup, whatever its result', async () => {
  const together = async (): Promise<PromiseSettledResult<unknown>[]> =>
    Promise.allSettled(Array.from({ length: 50 }, async () => tokens.authenticateToken('a', call)));
  answers = async () => {
    throw new TokenRejectedError('no');
  };
  expect((await together()).every(({ status }) => status === 'rejected')).toBe(true);
  answers = async () => undefined;
  expect((await together()).every((one) => one.status === 'fulfilled' && one.value === undefined)).toBe(true);
  answers = async (token) => userOf(token);
  await together();
  expect(looked).toEqual(['a', 'a', 'a']);
});

test('a lookup continues for the others when its first caller disconnects', async () => {
  const found = Promise.withResolvers<TokenAnswer>();
  answers = () => found.promise;
  const gone = new AbortController();
  const first = tokens.authenticateToken('a', { ...call, signal: gone.signal });
  const second = tokens.authenticateToken('a', call);
  gone.abort(new Error('the client left'));
  await expect(first).rejects.toThrow('the client left');
  found.resolve(userOf('a'));
  expect(await second).toEqual(userOf('a'));
  expect(looked).toEqual(['a']);
});

test('a rejection is not cached', async () => {
  answers = async () => undefined;
  await tokens.authenticateToken('a', call);
  answers = () => undefined;
  expect(tokens.authenticateToken('a', call)).toBeUndefined();
  answers = async (token) => userOf(token);
  expect(await tokens.authenticateToken('a', call)).toEqual(userOf('a'));
});

describe('Token cache: collision attempts', () => {
  test.each<[string, [string, string[]?], [string, string[]?]]>([
    ['a token and the same with an audience', ['a'], ['a', ['b']]],
    ['no audiences and none', ['a'], ['a', []]],
    ['one audience and two', ['a', ['b,c']], ['a', ['b', 'c']]],
    ['an audience that ends the list', ['a', ['b"]']], ['a', ['b']]],
    ['a token that looks like one with an audience', ['a["a","b"]'], ['a', ['b']]],
    ['a part that moves from one to the next', ['ab', ['c']], ['a', ['bc']]],
    ['other letters', ['a'], ['A']],
    ['a space', ['a'], ['a ']],
    ['letters beyond ASCII', ['\u00e9'], ['\u00c3\u00a9']],
  ])('%s are two', async (_, one, other) => {
    await tokens.authenticateToken(one[0], call, one[1]);
    await tokens.authenticateToken(other[0], call, other[1]);
    expect(await samplesOf(metrics, 'authentication_token_cache_request_total')).toEqual([['status="miss"', 2]]);
  });
});

test('the number of cached answers is bounded, and the oldest are evicted', async () => {
  for (let count = 0; count < 5_000; count++) await tokens.authenticateToken(`token ${count}`, call);
  looked.length = 0;
  for (const count of [4_999, 5_000 - 4_096, 5_000 - 4_097, 0]) await tokens.authenticateToken(`token ${count}`, call);
  expect(looked).toEqual([`token ${5_000 - 4_097}`, 'token 0']);
});

test('the memory for users is bounded, however large they are', async () => {
  const groupBytes = 20_000;
  const groups = 45;
  answers = async (token) => ({
    user: { name: token, groups: Array.from({ length: groups }, (_, at) => `${token}-${at}`.padEnd(groupBytes, 'x')) },
  });
  const before = usedHeapBytes();
  for (let count = 0; count < 300; count++) await tokens.authenticateToken(`token ${count}`, call);
  expect(usedHeapBytes() - before).toBeLessThan(40 * 1024 * 1024);
  looked.length = 0;
  await tokens.authenticateToken('token 299', call);
  expect(looked).toEqual([]);
});
