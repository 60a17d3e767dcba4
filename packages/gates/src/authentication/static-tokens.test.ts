import { callUntil } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { createStaticTokenAuthenticator, TokenFileError } from './static-tokens.ts';

const call = callUntil(Number.POSITIVE_INFINITY);

const file = 'secret-1,alice,u1,"devs, ops"\n\n# a remark\nsecret-2,bob,u2\n"secret,3",carol,\n';

describe('tokens of a file', () => {
  test.each([
    ['secret-1', { name: 'alice', uid: 'u1', groups: ['devs', 'ops', 'system:authenticated'] }],
    ['secret-2', { name: 'bob', uid: 'u2', groups: ['system:authenticated'] }],
    ['secret,3', { name: 'carol', groups: ['system:authenticated'] }],
  ])('%s', (token, user) => {
    expect(createStaticTokenAuthenticator(file).authenticateToken(token, call)).toEqual({ user });
  });

  test.each(['', 'SECRET-1', 'secret-12', 'secret-', 'token', '# a remark'])('%j is not accepted', (token) => {
    expect(createStaticTokenAuthenticator(file).authenticateToken(token, call)).toBeUndefined();
  });
});

test('all problems of a file are reported by line, without showing a token', () => {
  const read = (): unknown => createStaticTokenAuthenticator('hush1,a,b\nhush2,a\n"hush3,a,b\n,a,b\nhush1,c,d\n');
  expect(read).toThrow(TokenFileError);
  expect(read).toThrow(/^line 2: .*\nline 3: .*\nline 4: .*\nline 5: .*$/);
  expect(read).not.toThrow(/hush/);
});
