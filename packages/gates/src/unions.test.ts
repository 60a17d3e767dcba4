import { callUntil } from '@cluster-apiserver/base';
import { expect, test } from '@jest/globals';
import type { AccessDecision, UserInfo } from '@cluster-apiserver/model';
import {
  type Authenticator,
  type Authorizer,
  uniteAuthorizers,
  uniteAuthenticators,
  mastersGroup,
  createGroupAuthorizer,
  TokenRejectedError,
} from './index.ts';
import { bringing } from '../test/credentials.ts';

const call = callUntil(Number.POSITIVE_INFINITY);

const noCredentials = bringing();
const user = (name: string, ...groups: string[]): UserInfo => ({ name, groups });
const knows = (found: UserInfo | undefined): Authenticator => ({ authenticate: () => found });
const knowsLater = (found: UserInfo | undefined): Authenticator => ({ authenticate: async () => found });
const rejects = (clientMessage: string): Authenticator => ({
  authenticate: () => {
    throw new TokenRejectedError('refused', { clientMessage });
  },
});
const rejectsLater = (clientMessage: string): Authenticator => ({
  authenticate: async () => rejects(clientMessage).authenticate(noCredentials, call),
});
const decides = (decision: AccessDecision): Authorizer => ({ authorize: () => decision });
const decidesLater = (decision: AccessDecision): Authorizer => ({ authorize: async () => decision });
const question = { user: user('a'), verb: 'get', path: '/x' };

test('the first authenticator that accepts decides, whether it answers synchronously or not', async () => {
  expect(
    uniteAuthenticators([knows(undefined), knows(user('b')), knows(user('c'))]).authenticate(noCredentials, call),
  ).toEqual(user('b'));
  expect(
    await uniteAuthenticators([
      knowsLater(undefined),
      knows(undefined),
      knowsLater(user('b')),
      knows(user('c')),
    ]).authenticate(noCredentials, call),
  ).toEqual(user('b'));
  expect(uniteAuthenticators([]).authenticate(noCredentials, call)).toBeUndefined();
});

test('a rejection counts when no other authenticator accepts, and the first one is reported', async () => {
  for (const rejecting of [rejects('a'), rejectsLater('a')]) {
    expect(await uniteAuthenticators([rejecting, knowsLater(user('b'))]).authenticate(noCredentials, call)).toEqual(
      user('b'),
    );
    expect(await uniteAuthenticators([rejecting, knows(user('b'))]).authenticate(noCredentials, call)).toEqual(
      user('b'),
    );
    await expect(
      (async () =>
        uniteAuthenticators([knows(undefined), rejecting, rejects('b')]).authenticate(noCredentials, call))(),
    ).rejects.toMatchObject({ name: 'TokenRejectedError', clientMessage: 'a' });
  }
});

test('an error is not a rejection: it ends the search', async () => {
  const faulty: Authenticator = { authenticate: async () => Promise.reject(new Error('ours')) };
  await expect(uniteAuthenticators([faulty, knows(user('b'))]).authenticate(noCredentials, call)).rejects.toThrow(
    'ours',
  );
});

test('the first authorizer with an opinion decides; without any opinion the request is denied', async () => {
  const none: AccessDecision = { verdict: 'noOpinion', reason: 'not mine' };
  expect(
    uniteAuthorizers([decides(none), decides({ verdict: 'deny' }), decides({ verdict: 'allow' })]).authorize(
      question,
      call,
    ),
  ).toEqual({ verdict: 'deny' });
  expect(
    await uniteAuthorizers([
      decidesLater(none),
      decidesLater({ verdict: 'allow' }),
      decides({ verdict: 'deny' }),
    ]).authorize(question, call),
  ).toEqual({ verdict: 'allow' });
  expect(await uniteAuthorizers([decides(none), decidesLater(none)]).authorize(question, call)).toEqual({
    verdict: 'noOpinion',
    reason: 'not mine, not mine',
  });
  expect(uniteAuthorizers([]).authorize(question, call)).toEqual({ verdict: 'noOpinion', reason: undefined });
});

test('system:masters may do everything; there is no opinion on other users', () => {
  const authorizer = createGroupAuthorizer([mastersGroup]);
  expect(
    authorizer.authorize({ ...question, user: user('a', 'system:authenticated', 'system:masters') }, call),
  ).toEqual({
    verdict: 'allow',
  });
  expect(authorizer.authorize({ ...question, user: user('system:masters', 'masters') }, call)).toEqual({
    verdict: 'noOpinion',
  });
});
