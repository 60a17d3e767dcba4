import { describe, expect, test } from '@jest/globals';
import { compile, type Expression, type Type, types } from '@cluster-apiserver/expressions';
import type { JWTPayload } from 'jose';
import { al, useIssuer } from './use-issuer.ts';

const issuer = useIssuer();
const { authenticate, claims, configure, rejection } = issuer;

const claimTypes = { claims: types.map(types.string, types.dyn) };
const userTypes = {
  user: types.object('UserInfo', { username: types.string, uid: types.string, groups: types.list(types.string) }),
};

function expression(text: string, variables: Readonly<Record<string, Type>> = claimTypes): Expression {
  const compiled = compile(text, variables);
  if ('faults' in compiled) throw new Error(compiled.faults.join('\n'));
  return compiled.expression;
}

describe('an operator can configure', () => {
  test('how claims become a user, in expressions', async () => {
    configure({
      claimMappings: {
        username: { from: 'expression', expression: expression("'u:' + claims.sub") },
        groups: { from: 'expression', expression: expression('claims.roles.split(",")') },
        uid: { from: 'claim', claim: 'oid', prefix: '' },
        extra: [
          { key: 'example.com/tenant', expression: expression('claims.tenant') },
          { key: 'example.com/none', expression: expression("claims.?none.orValue('')") },
          { key: 'example.com/some', expression: expression("['', 'x']") },
        ],
      },
    });
    expect(await authenticate(await issuer.provider.sign(claims({ roles: 'a,b', oid: 'o', tenant: 't' })))).toEqual({
      name: 'u:al',
      uid: 'o',
      groups: ['a', 'b', 'system:authenticated'],
      extra: { 'example.com/tenant': ['t'], 'example.com/some': ['x'] },
    });
  });

  test('rules about the ID of a token, which is an extra value as in kube-apiserver', async () => {
    const key = 'authentication.kubernetes.io/credential-id';
    expect(await authenticate(await issuer.provider.sign(claims({ jti: 't1' })))).toMatchObject({
      extra: { [key]: ['JTI=t1'] },
    });
    for (const jti of ['', 1])
      expect(await authenticate(await issuer.provider.sign(claims({ jti })))).not.toHaveProperty('extra');
  });

  test('claim validation rules and their messages', async () => {
    configure({
      claimRules: [
        { by: 'claim', claim: 'hd', requiredValue: 'x' },
        { by: 'expression', expression: expression("claims.tenant == 'hush'"), message: 'ask for the tenant' },
      ],
    });
    expect((await rejection(await issuer.provider.sign(claims({ tenant: 'hush' })))).clientMessage).toBeUndefined();
    expect((await rejection(await issuer.provider.sign(claims({ hd: 'y', tenant: 'hush' })))).message).toContain('[0]');
    const refused = await rejection(await issuer.provider.sign(claims({ hd: 'x', tenant: 'secret' })));
    expect(refused.clientMessage).toBe('ask for the tenant');
    expect(refused.message).toContain('claimValidationRules[1]');
    expect(refused.message).not.toContain('secret');
    expect(await authenticate(await issuer.provider.sign(claims({ hd: 'x', tenant: 'hush' })))).toEqual(al);
  });

  test('user validation rules', async () => {
    configure({
      claimMappings: {
        username: { from: 'claim', claim: 'sub', prefix: '' },
        groups: undefined,
        uid: undefined,
        extra: [],
      },
      userRules: [
        {
          by: 'expression',
          expression: expression("!user.username.startsWith('system:')", userTypes),
          message: 'reserved prefix',
        },
        {
          by: 'expression',
          expression: expression("user.groups.all(g, !g.startsWith('system:')) && !has(user.uid)", userTypes),
          message: undefined,
        },
      ],
    });
    expect((await rejection(await issuer.provider.sign(claims({ sub: 'system:admin' })))).clientMessage).toBe(
      'reserved prefix',
    );
    expect(await authenticate(await issuer.provider.sign(claims()))).toEqual({
      name: 'al',
      groups: ['system:authenticated'],
    });
  });

  test('that the user name is an email, which must then be verified', async () => {
    configure({
      claimMappings: {
        username: { from: 'claim', claim: 'email', prefix: '' },
        groups: undefined,
        uid: undefined,
        extra: [],
      },
    });
    for (const email_verified of [false, 'true', null])
      expect(
        (await rejection(await issuer.provider.sign(claims({ email: 'a@b.c', email_verified })))).message,
      ).toContain('not verified');
    for (const part of [{ email_verified: true }, {}])
      expect(await authenticate(await issuer.provider.sign(claims({ email: 'a@b.c', ...part })))).toMatchObject({
        name: 'a@b.c',
      });
  });

  test('an expression that never ends, without delaying others', async () => {
    const endless = 'claims.l.all(a, claims.l.all(b, claims.l.all(c, claims.l.all(d, true))))';
    configure({
      claimRules: [{ by: 'expression', expression: expression(endless), message: 'no' }],
    });
    const error = await rejection(await issuer.provider.sign(claims({ l: Array(100).fill(1) })));
    expect((error.cause as Error).name).toBe('BudgetExceededError');
  });
});

test('claims named like inherited object properties are ordinary claims', async () => {
  configure({
    claimMappings: {
      username: { from: 'claim', claim: 'constructor', prefix: '' },
      groups: { from: 'claim', claim: '__proto__', prefix: '' },
      uid: undefined,
      extra: [{ key: 'a.io/a', expression: expression("claims.?toString.orValue('')") }],
    },
  });
  expect((await rejection(await issuer.provider.sign(claims()))).message).toContain('the username is no text');
  const own = JSON.parse('{"constructor":"c","__proto__":["g"]}') as JWTPayload;
  expect(await authenticate(await issuer.provider.sign({ ...claims(), ...own, constructor: 'c' }))).toMatchObject({
    name: 'c',
  });
});
