import { createMetrics } from '@cluster-apiserver/telemetry';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import {
  createTokenCaches,
  createTokenIssuer,
  createSecretTokenMeasures,
  requireExistingReferents,
} from '../../src/index.ts';
import { keysOf } from './keys.ts';
import { call, nowSeconds, own, pems, referent, robot, url, useAccountTokens } from './use-account-tokens.ts';

const tokens = useAccountTokens();
const { issue, refusal, signedWith } = tokens;

describe('a token', () => {
  test("has the claims of kube-apiserver's tokens, in the same order", async () => {
    const token = await issue(['x', 'y'], 700);
    const { kid } = tokens.keys.signing;
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', kid });
    const claims = decodeJwt(token);
    expect(claims).toEqual({
      aud: ['x', 'y'],
      exp: nowSeconds + 700,
      iat: nowSeconds,
      iss: url,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      'kubernetes.io': own,
      nbf: nowSeconds,
      sub: 'system:serviceaccount:team:robot',
    });
    expect(Object.keys(claims)).toEqual(Object.keys(claims).sort());
  });

  test.each(Object.entries(pems))('that is tokens.signed with %s makes its bearer the account', async (alg, pem) => {
    tokens.keys = await keysOf(pem);
    const token = await issue();
    expect(decodeProtectedHeader(token).alg).toBe(alg);
    expect(await tokens.authenticateToken(token, call)).toMatchObject({
      user: {
        name: 'system:serviceaccount:team:robot',
        uid: 'u-1',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${decodeJwt(token).jti}`] },
      },
      audiences: [url],
      expiresAtMs: (nowSeconds + 600) * 1000,
    });
  });

  test('is valid for the requested audiences that it contains', async () => {
    const token = await issue(['x', 'y', 'api']);
    expect(await tokens.authenticateToken(token, call)).toMatchObject({ audiences: ['api'] });
    expect(await tokens.authenticateToken(token, call, ['y', 'z', 'x'])).toMatchObject({ audiences: ['y', 'x'] });
    expect(await refusal(token, ['z'])).toContain('other audiences');
  });

  test('of another issuer gets no opinion', async () => {
    const token = await signedWith({ iss: 'https://elsewhere' });
    for (const other of [token, 'opaque', 'a.b.c', ''])
      expect(await tokens.authenticateToken(other, call)).toBeUndefined();
    expect(tokens.reloads).toBe(0);
  });

  test('of a former issuer is still valid', async () => {
    const token = await signedWith({ iss: 'https://before.example' });
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
  });

  test.each([
    ['pod', { name: 'a', uid: 'b' }],
    ['node', { name: 'a', uid: 'b' }],
    ['secret', { name: 'a' }],
    ['secret', null],
    ['secret', { name: 'a', uid: 1 }],
  ])('that is bound to a %s %j, which cannot exist here, is refused', async (kind, object) => {
    const bound = { 'kubernetes.io': { ...own, [kind]: object } };
    expect(await refusal(await signedWith(bound))).toContain('bound to an object');
  });

  test('that is bound to a secret is valid while the secret exists', async () => {
    const secret = { name: 'kept', uid: 's-1' };
    const signingKey = () => tokens.keys.signing;
    const issuer = createTokenIssuer({ issuer: url, signingKey, clock: tokens.clock, random: seededRandom(1) });
    const { token } = await issuer.issue(robot, { audiences: [url], lifetimeSeconds: 600, secret });
    expect(decodeJwt(token)['kubernetes.io']).toEqual({ ...own, secret });
    for (const now of [undefined, referent('s-2')]) {
      tokens.secret = now;
      expect(await refusal(token)).toBe('the secret that the token is bound to does not exist any more');
    }
    tokens.clock.advance(10_000);
    tokens.secret = referent('s-1');
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
    tokens.remembered = tokens.stored = undefined;
    expect(await refusal(token)).toBe('the service account of the token does not exist any more');
  });

  test.each([
    [undefined],
    [null],
    ['team'],
    [[]],
    [{}],
    [{ namespace: 'team' }],
    [{ namespace: 'team', serviceaccount: { name: 'robot' } }],
    [{ namespace: 1, serviceaccount: own.serviceaccount }],
    [{ namespace: 'team', serviceaccount: { name: ['robot'], uid: 'u-1' } }],
    [JSON.parse(`{"__proto__":${JSON.stringify(own)}}`)],
  ])('that says %j of its account is refused', async (claim) => {
    expect(await refusal(await signedWith({ 'kubernetes.io': claim }))).toBe('the token names no service account');
  });
});

describe('its service account', () => {
  test('is looked up in memory, without a read from etcd', async () => {
    expect(await tokens.authenticateToken(await issue(), call)).toBeDefined();
    expect(tokens.storeReads).toBe(0);
  });

  test.each([
    ['does not know it yet', undefined],
    ['still knows one of before', referent('u-0')],
  ])('is asked of the store when memory %s', async (_, old) => {
    tokens.remembered = old;
    expect(await tokens.authenticateToken(await issue(), call)).toBeDefined();
    expect(tokens.storeReads).toBe(1);
  });

  test.each([
    ['is gone', undefined],
    ['was created anew under the same name', referent('u-2')],
  ])('takes the token with it when it %s', async (_, now) => {
    const token = await issue();
    tokens.remembered = tokens.stored = now;
    for (let uses = 0; uses < 1_000; uses++) expect(await refusal(token)).toContain('does not exist any more');
    expect(tokens.storeReads).toBe(1);
    tokens.clock.advance(10_000);
    await refusal(token);
    expect(tokens.storeReads).toBe(2);
  });

  test('is accepted as soon as memory has it, whatever was read before', async () => {
    const token = await issue();
    tokens.remembered = tokens.stored = undefined;
    await refusal(token);
    tokens.remembered = referent(robot.uid);
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
  });

  test('that was cached as absent is read again for another uid of the same name', async () => {
    const token = await issue();
    tokens.remembered = tokens.stored = undefined;
    await refusal(token);
    tokens.stored = referent('u-2');
    const next = { ...own, serviceaccount: { name: 'robot', uid: 'u-2' } };
    expect(await tokens.authenticateToken(await signedWith({ 'kubernetes.io': next }), call)).toBeDefined();
  });

  test('is valid for another minute after its deletion timestamp', async () => {
    const token = await issue();
    tokens.remembered = referent('u-1', tokens.clock.now());
    tokens.clock.advance(60_000);
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
    tokens.clock.advance(1);
    expect(await refusal(token)).toContain('has been deleted');
  });

  test('is checked each time, also when the signature is cached', async () => {
    const cached = createTokenCaches(
      tokens.clock,
      seededRandom(2),
      createMetrics({ ofProcess: false }),
    )(tokens.signed, 10_000);
    const living = requireExistingReferents(cached, {
      clock: tokens.clock,
      noteUse: () => {},
      measures: createSecretTokenMeasures(createMetrics({ ofProcess: false })),
      find: () => tokens.remembered,
    });
    const token = await issue();
    expect(await living.authenticateToken(token, call)).toBeDefined();
    tokens.remembered = undefined;
    await expect(Promise.resolve(living.authenticateToken(token, call))).rejects.toThrow('does not exist any more');
  });

  test('that cannot be looked up is an error, not a rejection', async () => {
    const broken = requireExistingReferents(tokens.signed, {
      clock: tokens.clock,
      noteUse: () => {},
      measures: createSecretTokenMeasures(createMetrics({ ofProcess: false })),
      find: async () => Promise.reject(new Error('no storage')),
    });
    await expect(Promise.resolve(broken.authenticateToken(await issue(), call))).rejects.toThrow('no storage');
  });
});

describe('Token cache', () => {
  test('a cached answer expires with the token', async () => {
    const cached = createTokenCaches(
      tokens.clock,
      seededRandom(3),
      createMetrics({ ofProcess: false }),
    )(tokens.signed, 10_000);
    const token = await issue([url], 600);
    tokens.clock.advance(595_000);
    expect(await cached.authenticateToken(token, call)).toBeDefined();
    tokens.clock.advance(5_000);
    await expect(Promise.resolve(cached.authenticateToken(token, call))).rejects.toThrow('expired');
  });
});
