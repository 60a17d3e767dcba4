import { callUntil } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { mayHaveSigned } from './authentication/oidc/algorithms.ts';
import { accountIn } from './authentication/service-account/claims.ts';
import { chooseAdmissionPlugins, openPaths, ownQuestions, staticTokens, wantedUser } from './index.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const user = { name: 'a', groups: ['system:authenticated'] };
const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'];

/** Every object inherits these, so a table that is asked for one of them must not answer with what it inherits. */
describe.each(names)('A client that says %s', (name) => {
  const resource = { version: 'v1', subresource: undefined, namespace: undefined, name: undefined };

  test.each([
    ['as a group', { ...resource, group: name, resource: 'selfsubjectreviews' }],
    ['as a resource', { ...resource, group: 'authentication.k8s.io', resource: name }],
  ])('%s gets no opinion', (_, asked) => {
    expect(ownQuestions.authorize({ user, verb: 'create', path: '', resource: asked }, call)).toEqual({
      verdict: 'noOpinion',
    });
  });

  test('as a path gets no opinion', () => {
    expect(openPaths(['/openid']).authorize({ user, verb: 'get', path: name }, call)).toEqual({ verdict: 'noOpinion' });
  });

  test('as a token is nobody', () => {
    expect(staticTokens('secret,user,1').authenticateToken(name, call)).toBeUndefined();
  });

  test('as an extra key keeps its values as data', () => {
    const wanted = wantedUser([
      ['impersonate-user', 'bob'],
      [`impersonate-extra-${name.toLowerCase()}`, 'x'],
    ]);
    expect(Object.entries(wanted?.extra ?? {})).toEqual([[name.toLowerCase(), ['x']]]);
  });

  test('as an algorithm or a claim names no key and no account', () => {
    expect(mayHaveSigned({ kty: 'RSA' }, { alg: name, kid: undefined })).toBe(false);
    expect(accountIn(JSON.parse(`{"kubernetes.io":{"${name}":{}}}`) as Record<string, unknown>)).toBeUndefined();
  });

  test('as an admission plugin is told that there is none', () => {
    expect(chooseAdmissionPlugins([name], []).faults).toHaveLength(1);
  });
});
