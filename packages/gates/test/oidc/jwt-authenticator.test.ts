import { describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import { startProvider } from './provider.ts';
import { al, nowSeconds, useIssuer } from './use-issuer.ts';

const issuer = useIssuer();
const { authenticate, claims, configure, rejection } = issuer;

test.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'])(
  'whoever bears a token that the issuer signed with %s is known by its claims',
  async (alg) => {
    await issuer.provider.rotate(alg, alg);
    expect(await authenticate(await issuer.provider.sign(claims()))).toEqual(al);
    expect(issuer.provider.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
  },
);

test('no opinion on tokens of other issuers and malformed tokens, without any request to the issuer', async () => {
  const token = await issuer.provider.sign(claims({ iss: 'https://elsewhere' }));
  for (const other of [token, 'a.b.c', 'a.b', 'opaque', `${token}.x`, 'x'.repeat(70_000)])
    expect(await authenticate(other)).toBeUndefined();
  expect(issuer.provider.asked).toEqual([]);
});

describe('a token is refused', () => {
  test.each<[string, Readonly<Record<string, unknown>>, string]>([
    ['a second after its end', { exp: nowSeconds - 1 }, 'expired'],
    ['at its end', { exp: nowSeconds }, 'expired'],
    ['without end', { exp: undefined }, 'does not say when it ends'],
    ['with an end that is a text', { exp: `${nowSeconds + 60}` }, 'does not say when it ends'],
    ['with an end before time began', { exp: -1 }, 'expired'],
    ['more than a minute before it begins', { nbf: nowSeconds + 61 }, 'does not hold yet'],
    ['with a beginning that is a text', { nbf: 'x' }, 'does not hold yet'],
    ['that was made at no time', { iat: 'x' }, 'when it was made'],
    ['for other audiences', { aud: ['clusters', 'clust'] }, 'other audiences'],
    ['without an audience', { aud: undefined }, 'other audiences'],
    ['for an audience within a list', { aud: [['cluster']] }, 'other audiences'],
    ['without a name', { sub: undefined }, 'the username is no text'],
    ['with an empty name', { sub: '' }, 'the username is empty'],
    ['with a list of names', { sub: ['hush'] }, 'the username is no text'],
    ['with a group that is a number', { groups: [1] }, 'the groups is no text'],
    ['with groups that are an object', { groups: {} }, 'neither a text nor a list'],
  ])('%s', async (_, part, reason) => {
    const error = await rejection(await issuer.provider.sign(claims(part)));
    expect(error.message).toContain(reason);
    expect(error.clientMessage).toBeUndefined();
  });

  test.each<[string, Readonly<Record<string, unknown>>]>([
    ['that ends in a second', { exp: nowSeconds + 1 }],
    ['that ends within a second', { exp: nowSeconds + 0.5 }],
    ['that will never end', { exp: 1e300 }],
    ['that begins in a minute', { nbf: nowSeconds + 60 }],
    ['for one audience', { aud: 'cluster' }],
    ['that was made in the future', { iat: nowSeconds + 3600 }],
  ])('but one is taken %s', async (_, part) => {
    expect(await authenticate(await issuer.provider.sign(claims(part)))).toEqual(al);
  });

  test.each(['none', 'None', 'NONE', 'HS256', 'rs256', 'ES256K', 'RSA-OAEP', '', 1, null, ['RS256'], undefined])(
    'with the algorithm %j, before its issuer is asked for keys',
    async (alg) => {
      const [, payload, signature] = (await issuer.provider.sign(claims())).split('.') as [string, string, string];
      const header = Buffer.from(JSON.stringify({ alg, kid: 'first' })).toString('base64url');
      for (const signed of [signature, '']) {
        const error = await rejection(`${header}.${payload}.${signed}`);
        expect(error.message).toContain('algorithm that is allowed');
      }
      expect(issuer.provider.asked).toEqual([]);
    },
  );

  test('with an algorithm that is not among those of this issuer', async () => {
    configure({ algorithms: ['RS256'] });
    expect((await rejection(await issuer.provider.sign(claims()))).message).toContain('algorithm that is allowed');
    await issuer.provider.rotate('rsa', 'RS256');
    expect(await authenticate(await issuer.provider.sign(claims()))).toEqual(al);
  });

  test('that is signed with the public key as a shared secret', async () => {
    const secret = Buffer.from(JSON.stringify(issuer.provider.published[0]));
    const token = await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(secret);
    expect((await rejection(token)).message).toContain('algorithm that is allowed');
  });

  test('that brings its own key, by value or by URL', async () => {
    const stranger = await startProvider();
    try {
      const header = {
        kid: 'first',
        jwk: stranger.published[0],
        jku: `${stranger.url}/keys`,
        x5u: `${stranger.url}/keys`,
      };
      expect((await rejection(await stranger.sign(claims(), header))).message).toContain('no key of the issuer');
      expect(stranger.asked).toEqual([]);
    } finally {
      await stranger.close();
    }
  });

  test('whose claims were changed after it was signed', async () => {
    const [header, , signature] = (await issuer.provider.sign(claims())).split('.') as [string, string, string];
    const payload = Buffer.from(JSON.stringify(claims({ sub: 'root' }))).toString('base64url');
    expect((await rejection(`${header}.${payload}.${signature}`)).message).toContain('no key of the issuer');
  });

  test.each(['first', 'other', '../first', "' or 1=1", 'x'.repeat(10_000)])(
    'or taken by its signature alone: the kid %.20s only picks a key',
    async (kid) => {
      issuer.provider.published = issuer.provider.published.map((key) => ({ ...key, kid }));
      expect(await authenticate(await issuer.provider.sign(claims(), { kid }))).toEqual(al);
    },
  );

  test('with a kid that is a number', async () => {
    expect((await rejection(await issuer.provider.sign(claims(), { kid: 1 }))).message).toContain('kid');
  });

  test('unless it has no kid, when every key is tried', async () => {
    const token = await issuer.provider.sign(claims(), { kid: undefined });
    await issuer.provider.rotate('second');
    expect(await authenticate(token)).toEqual(al);
  });
});
