import { callUntil } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { bringing } from '../../test/credentials.ts';
import { createBearerTokenAuthenticator } from './bearer-token.ts';
import type { TokenAnswer } from './token-authenticator.ts';
import { TokenRejectedError } from './token-rejected-error.ts';

const call = callUntil(Number.POSITIVE_INFINITY);

const al = { name: 'al', groups: [] };
const answers = (token: string): TokenAnswer | undefined => (token === 'good' ? { user: al } : undefined);

describe.each([
  ['now', createBearerTokenAuthenticator({ authenticateToken: answers })],
  ['later', createBearerTokenAuthenticator({ authenticateToken: async (token) => answers(token) })],
])('whoever asks with a header, and is known %s,', (_, tokens) => {
  const authenticate = async (authorization: string | readonly string[] | undefined) =>
    tokens.authenticate(bringing({ authorization }), call);

  test.each(['Bearer good', 'bearer  good ', ' BEARER good'])('is known by %j', async (authorization) => {
    expect(await authenticate(authorization)).toEqual(al);
  });

  test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic good', 'good', 'BearerX good'])(
    'has no bearer token with %j',
    async (authorization) => {
      expect(await authenticate(authorization)).toBeUndefined();
    },
  );

  test.each(['Bearer bad', 'Bearer good bad', 'Bearer bad good', 'Bearer Bearer good', 'Bearer good,good'])(
    'is rejected with %j instead of being treated as having no token',
    async (authorization) => {
      await expect(authenticate(authorization)).rejects.toThrow(TokenRejectedError);
    },
  );

  test('is rejected with two Authorization headers, even if one is valid', async () => {
    for (const lines of [
      ['Bearer good', 'Bearer bad'],
      ['Bearer good', 'Bearer good'],
    ])
      await expect(authenticate(lines)).rejects.toThrow('more than one');
  });
});
