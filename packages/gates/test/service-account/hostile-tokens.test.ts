import { createHmac, createPublicKey } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import {
  calculateJwkThumbprint,
  CompactSign,
  EncryptJWT,
  importPKCS8,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose';
import { TokenRejectedError } from '../../src/index.ts';
import { ecKey, keysOf } from './keys.ts';
import { call, nowSeconds, own, pems, url, useAccountTokens } from './use-account-tokens.ts';

const tokens = useAccountTokens();
const { answerTo, issue, refusal, signedWith } = tokens;

// Attacks on JSON Web Tokens that are known by name.

const base64url = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

describe('JWT `alg: none`, unknown alg', () => {
  test.each(['none', 'None', 'NONE', 'nOnE', 'HS256', 'rs256', 'RS1', 'EdDSA', '', undefined, 1, ['ES256'], null])(
    '%j is refused, with a signature, without one, and with a wrong one',
    async (alg) => {
      const [, payload = '', signature = ''] = (await issue()).split('.');
      for (const end of [signature, '', 'AAAA'])
        await refusal(`${base64url({ alg, kid: tokens.keys.signing.kid })}.${payload}.${end}`);
    },
  );
});

describe('Algorithm confusion', () => {
  const hmacWith = async (secret: Buffer | string, alg: 'HS256' | 'HS512'): Promise<string> => {
    const [, payload = ''] = (await issue()).split('.');
    const text = `${base64url({ alg, kid: tokens.keys.signing.kid })}.${payload}`;
    return `${text}.${createHmac(alg === 'HS256' ? 'sha256' : 'sha512', secret)
      .update(text)
      .digest('base64url')}`;
  };

  test.each(['RS256', 'ES256'] as const)(
    'HS256 with the public key of %s is refused in all its spellings',
    async (alg) => {
      tokens.keys = tokens.inFiles = await keysOf(pems[alg]);
      const key = createPublicKey(pems[alg]);
      const jwk: JWK = tokens.keys.verifying[0] ?? {};
      for (const secret of [
        key.export({ type: 'spki', format: 'pem' }),
        key.export({ type: 'spki', format: 'pem' }).toString().trim(),
        key.export({ type: 'spki', format: 'der' }),
        JSON.stringify(jwk),
        String(jwk.n ?? jwk.x),
        tokens.keys.signing.kid,
        '',
      ]) {
        await refusal(await hmacWith(secret, 'HS256'));
        await refusal(await hmacWith(secret, 'HS512'));
      }
    },
  );

  test.each(['RS384', 'RS512', 'PS256', 'PS384', 'PS512'])('our RSA key used as %s is refused', async (alg) => {
    tokens.keys = tokens.inFiles = await keysOf(pems.RS256);
    const key = await importPKCS8(pems.RS256, alg);
    const token = await new SignJWT({ iss: url, aud: url, exp: nowSeconds + 600, 'kubernetes.io': own })
      .setProtectedHeader({ alg, kid: tokens.keys.signing.kid })
      .sign(key);
    await refusal(token);
  });

  test('a key of one type under the kid of another is refused', async () => {
    const [, payload = '', signature = ''] = (await issue()).split('.');
    for (const alg of ['RS256', 'ES384', 'ES512'])
      await refusal(`${base64url({ alg, kid: tokens.keys.signing.kid })}.${payload}.${signature}`);
  });

  test('keys that a header contains or points to are never used', async () => {
    const mine = await keysOf(ecKey());
    const [jwk] = mine.verifying;
    const claims = { iss: url, aud: url, exp: nowSeconds + 600, 'kubernetes.io': own };
    for (const kid of [tokens.keys.signing.kid, mine.signing.kid, await calculateJwkThumbprint(jwk ?? {}), undefined])
      for (const more of [{ jwk }, { jku: `${url}/keys` }, { x5u: `${url}/keys` }, { x5c: ['MIIB'] }])
        await refusal(
          await new SignJWT(claims)
            .setProtectedHeader({ alg: 'ES256', ...(kid && { kid }), ...more } as JWTHeaderParameters)
            .sign(mine.signing.key),
        );
  });

  test('a crit header is not ignored, and an unencoded payload is refused', async () => {
    const [, payload = ''] = (await issue()).split('.');
    const { alg, kid, key } = tokens.keys.signing;
    const plain = await new CompactSign(Buffer.from(payload, 'base64url'))
      .setProtectedHeader({ alg, kid, crit: ['exp'], exp: 1 })
      .sign(key, { crit: { exp: true } });
    await refusal(plain);
    const unencoded = `${base64url({ alg, kid, b64: false, crit: ['b64'] })}.${payload}.${plain.split('.')[2]}`;
    await refusal(unencoded);
  });

  test('an encrypted token is not accepted', async () => {
    const encrypted = await new EncryptJWT({ iss: url, 'kubernetes.io': own })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(new Uint8Array(32));
    expect(await tokens.authenticateToken(encrypted, call)).toBeUndefined();
  });
});

describe('kid injection', () => {
  test.each(['../../etc/passwd', "' OR 1=1 --", '', 'x'.repeat(20_000), '__proto__', 'constructor', '\0'])(
    '%.30j finds no key',
    async (kid) => {
      expect(await refusal(await signedWith({}, { kid }))).toContain('no key');
    },
  );

  test.each([1, null, ['a'], { a: 1 }])('%j is no name of a key', async (kid) => {
    await refusal(await signedWith({}, { kid: kid as never }));
  });
});

describe('Wrong aud/iss/exp/nbf/iat', () => {
  test.each<[string, object]>([
    ['at its end', { exp: nowSeconds }],
    ['without end', { exp: undefined }],
    ['with an end that is a text', { exp: `${nowSeconds + 600}` }],
    ['with an end before time began', { exp: -1 }],
    ['more than a minute before its beginning', { nbf: nowSeconds + 61 }],
    ['with a beginning that is a text', { nbf: 'x' }],
    ['made at no time', { iat: 'x' }],
    ['without an audience', { aud: undefined }],
    ['for an empty list', { aud: [] }],
    ['for a part of our name', { aud: [url.slice(0, -1)] }],
    ['for an audience within a list', { aud: [[url]] }],
  ])('a token %s is refused', async (_, claims) => {
    await refusal(await signedWith(claims));
  });

  test.each([
    ['a list of issuers', [url]],
    ['a longer one', `${url}/`],
    ['none', undefined],
  ])('a token of %s is not ours', async (_, iss) => {
    expect(await tokens.authenticateToken(await signedWith({ iss }), call)).toBeUndefined();
  });

  test('a token is valid until its last second and not in the next', async () => {
    const token = await issue([url], 600);
    tokens.clock.advance(599_000);
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
    tokens.clock.advance(1_000);
    expect(await refusal(token)).toContain('expired');
  });

  test('clocks of two replicas may differ by a minute', async () => {
    expect(
      await tokens.authenticateToken(await signedWith({ nbf: nowSeconds + 60, iat: nowSeconds + 60 }), call),
    ).toBeDefined();
  });
});

describe('Huge / malformed tokens', () => {
  test.each(['RS256', 'ES256'] as const)('one changed letter, in any place, spoils a token of %s', async (alg) => {
    tokens.keys = tokens.inFiles = await keysOf(pems[alg]);
    const token = await issue([url], 100_000);
    for (let place = 0; place < token.length; place++) {
      const letter = token[place] === 'A' ? 'B' : 'A';
      await spoiled(`${token.slice(0, place)}${letter}${token.slice(place + 1)}`);
    }
    // The last letter holds bits that mean nothing, so another might say the same.
    for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_')
      if (letter !== token.at(-1)) await spoiled(token.slice(0, -1) + letter);
  });

  /** Not ours any more, or refused. */
  const spoiled = async (token: string): Promise<void> => {
    const answer = await answerTo(token);
    if (answer !== undefined) expect(answer).toBeInstanceOf(TokenRejectedError);
  };

  test('a token with anything added or removed is not accepted', async () => {
    const token = await issue();
    const [header = '', payload = '', signature = ''] = token.split('.');
    for (const other of [
      `${token}x`,
      `${token}=`,
      `${token}==`,
      `${token}\n`,
      ` ${token}`,
      `${token}.`,
      `${token}.${signature}`,
      token.slice(0, -1),
      `${header}.${payload}.`,
      `${header}.${payload}`,
      `${header}..${signature}`,
      `.${payload}.${signature}`,
      `${header}=.${payload}.${signature}`,
      `${header}.${payload}=.${signature}`,
      token.replaceAll('-', '+').replaceAll('_', '/').concat('+'),
    ])
      await spoiled(other);
  });

  test('endless dots and letters are not accepted and cost nothing', async () => {
    for (const huge of ['.'.repeat(1_000_000), 'a'.repeat(500_000), `${'a'.repeat(300_000)}.${'b'.repeat(300_000)}.c`])
      expect(await tokens.authenticateToken(huge, call)).toBeUndefined();
    expect(tokens.reloads).toBe(0);
  });
});

test('Secrets in logs/traces/metrics: no refusal holds a part of its token', async () => {
  const token = await issue(['elsewhere']);
  const parts = token.split('.');
  for (const wrong of [
    token,
    `${token}x`,
    await signedWith({ exp: 1 }),
    await signedWith({ 'kubernetes.io': 'hush' }),
  ]) {
    const message = await refusal(wrong);
    for (const part of [...parts, 'hush', 'elsewhere', 'robot']) expect(message).not.toContain(part);
  }
});
