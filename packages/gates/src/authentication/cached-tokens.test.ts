import { beforeEach, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { ManualClock } from '../../test/oidc/manual-clock.ts';
import { cachedTokens } from './cached-tokens.ts';
import type { TokenAnswer, TokenAuthenticator } from './token-authenticator.ts';
import { TokenRejectedError } from './token-rejected.ts';

const startMs = 1_000_000;
let clock: ManualClock;
let looked: string[];
let statuses: string[];
let answers: (token: string) => TokenAnswer | undefined | Promise<TokenAnswer | undefined>;
let tokens: TokenAuthenticator;

const userOf = (token: string, expiresAtMs?: number): TokenAnswer => ({
  user: { name: token, groups: [] },
  expiresAtMs,
});

beforeEach(() => {
  clock = new ManualClock(startMs);
  looked = [];
  statuses = [];
  answers = async (token) => userOf(token);
  const inner: TokenAuthenticator = {
    authenticateToken: (token, audiences) => {
      looked.push(audiences ? JSON.stringify([token, audiences]) : token);
      return answers(token);
    },
  };
  tokens = cachedTokens(inner, {
    clock,
    random: seededRandom(1),
    ttlMs: 10_000,
    asked: (status) => void statuses.push(status),
  });
});

test('a token is looked at once in its time, and then again', async () => {
  for (const [moveMs, times] of [
    [0, 1],
    [9_999, 1],
    [1, 2],
  ] as const) {
    clock.move(moveMs);
    expect(await tokens.authenticateToken('a')).toEqual(userOf('a'));
    expect(looked).toHaveLength(times);
  }
  expect(statuses).toEqual(['miss', 'hit', 'miss']);
});

test('a remembered answer is there at once', async () => {
  await tokens.authenticateToken('a');
  expect(tokens.authenticateToken('a')).toEqual(userOf('a'));
});

test('an answer is not remembered beyond the end of its token', async () => {
  answers = async (token) => (clock.now() < startMs + 3_000 ? userOf(token, startMs + 3_000) : undefined);
  expect(await tokens.authenticateToken('a')).toBeDefined();
  clock.move(2_999);
  expect(await tokens.authenticateToken('a')).toBeDefined();
  clock.move(1);
  expect(await tokens.authenticateToken('a')).toBeUndefined();
});

test('those who come together wait for one look, whatever comes out', async () => {
  const together = async (): Promise<PromiseSettledResult<unknown>[]> =>
    Promise.allSettled(Array.from({ length: 50 }, async () => tokens.authenticateToken('a')));
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

test('a refusal is not remembered', async () => {
  answers = async () => undefined;
  await tokens.authenticateToken('a');
  answers = () => undefined;
  expect(tokens.authenticateToken('a')).toBeUndefined();
  answers = async (token) => userOf(token);
  expect(await tokens.authenticateToken('a')).toEqual(userOf('a'));
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
    await tokens.authenticateToken(...one);
    await tokens.authenticateToken(...other);
    expect(statuses).toEqual(['miss', 'miss']);
  });
});

test('however many tokens come, so many answers are kept, and the oldest go', async () => {
  for (let count = 0; count < 5_000; count++) await tokens.authenticateToken(`token ${count}`);
  looked.length = 0;
  for (const count of [4_999, 5_000 - 4_096, 5_000 - 4_097, 0]) await tokens.authenticateToken(`token ${count}`);
  expect(looked).toEqual([`token ${5_000 - 4_097}`, 'token 0']);
});
