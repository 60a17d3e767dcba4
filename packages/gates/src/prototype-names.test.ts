import { callUntil } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { matchesKey } from './authentication/oidc/algorithms.ts';
import { readAccount } from './authentication/service-account/claims.ts';
import { chooseAdmissionPlugins, PolicyIndex, createStaticTokenAuthenticator, readImpersonatedUser } from './index.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'];

/** Every object inherits these, so a table that is asked for one of them must not answer with what it inherits. */
describe.each(names)('A client that says %s', (name) => {
  const resource = { version: 'v1', subresource: undefined, name: undefined };
  const index = new PolicyIndex();
  const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['x'] }];
  index.setRole({ namespace: undefined, name: 'r', rules });
  const roleRef = { apiGroup: '', kind: 'ClusterRole', name: 'r' };
  const subjects = [{ kind: 'User', name: 'a' }];
  index.setBinding({ namespace: 'n', name: 'b', roleRef, subjects });

  const asked = { user: 'a', groups: [] as string[], verb: 'get', namespace: 'n', group: '', resource: 'x' };

  test.each([
    ['as a user', { user: name }],
    ['as a group of the user', { user: 'b', groups: [name] }],
    ['as a verb', { verb: name }],
    ['as a group', { group: name }],
    ['as a resource', { resource: name }],
    ['as a namespace', { namespace: name }],
  ])('%s is granted nothing', (_, changed) => {
    const { user, groups, verb, ...target } = { ...asked, ...changed };
    const question = { user: { name: user, groups }, verb, path: '', resource: { ...resource, ...target } };
    expect(index.authorize(question)).toEqual({ verdict: 'noOpinion' });
  });

  test('as a path is not allowed', () => {
    const question = { user: { name: 'a', groups: [] }, verb: 'get', path: name };
    expect(index.authorize(question)).toEqual({ verdict: 'noOpinion' });
  });

  test('as a token is not authenticated', () => {
    expect(createStaticTokenAuthenticator('secret,user,1').authenticateToken(name, call)).toBeUndefined();
  });

  test('as an extra key keeps its values as data', () => {
    const wanted = readImpersonatedUser([
      ['impersonate-user', 'bob'],
      [`impersonate-extra-${name.toLowerCase()}`, 'x'],
    ]);
    expect(Object.entries(wanted?.extra ?? {})).toEqual([[name.toLowerCase(), ['x']]]);
  });

  test('as an algorithm or a claim names no key and no account', () => {
    expect(matchesKey({ kty: 'RSA' }, { alg: name, kid: undefined })).toBe(false);
    expect(readAccount(JSON.parse(`{"kubernetes.io":{"${name}":{}}}`) as Record<string, unknown>)).toBeUndefined();
  });

  test('as an admission plugin is reported as unknown', () => {
    expect(chooseAdmissionPlugins([name], []).faults).toHaveLength(1);
  });
});
