import { describe, expect, test } from '@jest/globals';
import { staticTokens, TokenFileError } from './static-tokens.ts';

const by = (authorization: string | undefined) => ({
  header: (name: string) => (name === 'authorization' ? authorization : undefined),
});
const file = 'secret-1,alice,u1,"devs, ops"\n\n# a remark\nsecret-2,bob,u2\n"secret,3",carol,\n';

describe('tokens of a file', () => {
  test.each([
    ['Bearer secret-1', { name: 'alice', uid: 'u1', groups: ['devs', 'ops', 'system:authenticated'] }],
    ['bearer  secret-2', { name: 'bob', uid: 'u2', groups: ['system:authenticated'] }],
    ['Bearer secret,3', { name: 'carol', groups: ['system:authenticated'] }],
  ])('%s', (authorization, user) => {
    expect(staticTokens(file).authenticate(by(authorization))).toEqual(user);
  });

  test.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Bearer secret-1 secret-2',
    'Basic secret-1',
    'secret-1',
    'Bearer SECRET-1',
    'Bearer secret-12',
    'Bearer token',
    'BearerX secret-1',
    'Bearer # a remark',
  ])('%j is nobody', (authorization) => {
    expect(staticTokens(file).authenticate(by(authorization))).toBeUndefined();
  });
});

test('all that is wrong with a file is told by its lines, and no token is', () => {
  const read = (): unknown => staticTokens('hush1,a,b\nhush2,a\n"hush3,a,b\n,a,b\nhush1,c,d\n');
  expect(read).toThrow(TokenFileError);
  expect(read).toThrow(/^line 2: .*\nline 3: .*\nline 4: .*\nline 5: .*$/);
  expect(read).not.toThrow(/hush/);
});
