import { createHmac, createPublicKey } from 'node:crypto';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import {
  calculateJwkThumbprint,
  CompactSign,
  decodeJwt,
  decodeProtectedHeader,
  EncryptJWT,
  importPKCS8,
  type JWK,
  type JWTHeaderParameters,
  SignJWT,
} from 'jose';
import {
  type AccountAnswer,
  createTokenCache,
  type FoundAccount,
  createIssuerMetadata,
  createKeyFinder,
  requireExistingAccounts,
  type ServiceAccountKeys,
  createAccountTokenAuthenticator,
  type TokenAuthenticator,
  TokenRejectedError,
  createTokenIssuer,
} from '../../src/index.ts';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { ecKey, keysOf, rsaKey } from './keys.ts';

const call = callUntil(Number.POSITIVE_INFINITY);

const url = 'https://cluster.example';
const nowSeconds = 1_800_000_000;
const robot = { namespace: 'team', name: 'robot', uid: 'u-1' };
const pems = { RS256: rsaKey(), ES256: ecKey(), ES384: ecKey('P-384'), ES512: ecKey('P-521') };

let clock: FakeClock;
let keys: ServiceAccountKeys;
/** What the next look at the files finds. */
let inFiles: ServiceAccountKeys;
let looks: number;
/** What memory knows, and what is stored. */
let remembered: FoundAccount | undefined;
let stored: FoundAccount | undefined;
let askedFreshly: number;
let signed: TokenAuthenticator<AccountAnswer>;
let tokens: TokenAuthenticator;

beforeEach(async () => {
  clock = fakeClock(nowSeconds * 1000);
  keys = inFiles = await keysOf(pems.ES256);
  looks = askedFreshly = 0;
  remembered = stored = { uid: robot.uid, deletedAtMs: undefined };
  const lookAgain = async (): Promise<void> => {
    looks++;
    await Promise.resolve();
    keys = inFiles;
  };
  signed = createAccountTokenAuthenticator({
    issuers: [url, 'https://before.example'],
    audiences: [url, 'api'],
    keys: createKeyFinder({ keys: () => keys.verifying, reload: lookAgain, clock }),
    clock,
  });
  tokens = requireExistingAccounts(
    signed,
    async (_, freshly) => {
      if (freshly) askedFreshly++;
      return freshly ? stored : remembered;
    },
    clock,
  );
});

const issue = async (audiences = [url], lifetimeSeconds = 600): Promise<string> => {
  const issuer = createTokenIssuer({ issuer: url, signingKey: () => keys.signing, clock, random: seededRandom(1) });
  return (await issuer.issue(robot, { audiences, lifetimeSeconds })).token;
};

const own = { namespace: 'team', serviceaccount: { name: 'robot', uid: 'u-1' } };

/** A token that says whatever a test wants, with our signature. */
const signedWith = (claims: object, header: Partial<JWTHeaderParameters> = {}): Promise<string> => {
  const { alg, kid, key } = keys.signing;
  const times = { exp: nowSeconds + 600, nbf: nowSeconds, iat: nowSeconds };
  return new SignJWT({ iss: url, aud: [url], ...times, 'kubernetes.io': own, ...claims })
    .setProtectedHeader({ alg, kid, ...header })
    .sign(key);
};

/** What becomes of a token, or its refusal. A token that waits for the next look at the files is given the time for it. */
async function answerTo(token: string, audiences?: readonly string[]): Promise<unknown> {
  let open = true;
  const answer = (async () => tokens.authenticateToken(token, call, audiences))()
    .catch((thrown: unknown) => thrown)
    .finally(() => (open = false));
  while (open) {
    await new Promise((resolve) => setImmediate(resolve));
    if (open && clock.waiting > 0) clock.advance(1_000);
  }
  return answer;
}

async function refusal(token: string, audiences?: readonly string[]): Promise<string> {
  const error = await answerTo(token, audiences);
  expect(error).toBeInstanceOf(TokenRejectedError);
  return (error as Error).message;
}

describe('a token', () => {
  test("has the claims of kube-apiserver's tokens, in the same order", async () => {
    const token = await issue(['x', 'y'], 700);
    const { kid } = keys.signing;
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

  test.each(Object.entries(pems))('that is signed with %s makes its bearer the account', async (alg, pem) => {
    keys = await keysOf(pem);
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
    expect(looks).toBe(0);
  });

  test('of a former issuer is still valid', async () => {
    const token = await signedWith({ iss: 'https://before.example' });
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
  });

  test.each(['pod', 'secret', 'node'])('that is bound to a %s, which cannot exist here, is refused', async (kind) => {
    const bound = { 'kubernetes.io': { ...own, [kind]: { name: 'a', uid: 'b' } } };
    expect(await refusal(await signedWith(bound))).toContain('bound to an object');
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
    expect(askedFreshly).toBe(0);
  });

  test.each([
    ['does not know it yet', undefined],
    ['still knows one of before', { uid: 'u-0', deletedAtMs: undefined }],
  ])('is asked of the store when memory %s', async (_, old) => {
    remembered = old;
    expect(await tokens.authenticateToken(await issue(), call)).toBeDefined();
    expect(askedFreshly).toBe(1);
  });

  test.each([
    ['is gone', undefined],
    ['was created anew under the same name', { uid: 'u-2', deletedAtMs: undefined }],
  ])('takes the token with it when it %s', async (_, now) => {
    const token = await issue();
    remembered = stored = now;
    for (let uses = 0; uses < 1_000; uses++) expect(await refusal(token)).toContain('does not exist any more');
    expect(askedFreshly).toBe(1);
    clock.advance(10_000);
    await refusal(token);
    expect(askedFreshly).toBe(2);
  });

  test('is accepted as soon as memory has it, whatever was read before', async () => {
    const token = await issue();
    remembered = stored = undefined;
    await refusal(token);
    remembered = { uid: robot.uid, deletedAtMs: undefined };
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
  });

  test('that was cached as absent is read again for another uid of the same name', async () => {
    const token = await issue();
    remembered = stored = undefined;
    await refusal(token);
    stored = { uid: 'u-2', deletedAtMs: undefined };
    const next = { ...own, serviceaccount: { name: 'robot', uid: 'u-2' } };
    expect(await tokens.authenticateToken(await signedWith({ 'kubernetes.io': next }), call)).toBeDefined();
  });

  test('is valid for another minute after its deletion timestamp', async () => {
    const token = await issue();
    remembered = { uid: 'u-1', deletedAtMs: clock.now() };
    clock.advance(60_000);
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
    clock.advance(1);
    expect(await refusal(token)).toContain('has been deleted');
  });

  test('is checked each time, also when the signature is cached', async () => {
    const cached = createTokenCache(signed, { clock, random: seededRandom(2), ttlMs: 10_000, countLookup: () => {} });
    const living = requireExistingAccounts(cached, async () => remembered, clock);
    const token = await issue();
    expect(await living.authenticateToken(token, call)).toBeDefined();
    remembered = undefined;
    await expect(Promise.resolve(living.authenticateToken(token, call))).rejects.toThrow('does not exist any more');
  });

  test('that cannot be looked up is an error, not a rejection', async () => {
    const broken = requireExistingAccounts(signed, async () => Promise.reject(new Error('no storage')), clock);
    await expect(Promise.resolve(broken.authenticateToken(await issue(), call))).rejects.toThrow('no storage');
  });
});

describe('keys', () => {
  test('that another replica already uses are found by reloading the files at once', async () => {
    const before = keys;
    keys = inFiles = await keysOf(pems.RS256);
    const token = await issue();
    keys = before;
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
    expect(looks).toBe(1);
  });

  test('that are unknown cause one reload of the files per second, however many tokens name them', async () => {
    for (let round = 1; round <= 3; round++) {
      const flood = Array.from({ length: 100 }, (_, at) => signedWith({}, { kid: `made-up-${round}-${at}` }));
      for (const token of await Promise.all(flood)) void refusal(token);
      await refusal(await signedWith({}, { kid: 'last' }));
      expect(looks).toBeLessThanOrEqual(clock.monotonicMs() / 1_000 + 1);
    }
  });

  test('that another replica already uses are found for a token without kid', async () => {
    const before = keys;
    keys = inFiles = await keysOf(ecKey());
    const token = await signedWith({}, { kid: undefined as never });
    keys = before;
    expect(await answerTo(token)).toMatchObject({ account: robot });
  });

  test('are not awaited by a caller that disconnects', async () => {
    const gone = new AbortController();
    await refusal(await signedWith({}, { kid: 'made-up' }));
    const waiting = tokens.authenticateToken(await signedWith({}, { kid: 'another' }), {
      ...call,
      signal: gone.signal,
    });
    gone.abort(new Error('the client left'));
    await expect(waiting).rejects.toThrow('the client left');
  });

  test('that were removed are not accepted any more', async () => {
    const token = await issue();
    keys = inFiles = await keysOf(pems.RS256);
    expect(await refusal(token)).toContain('no key');
  });

  test('are selected by kid, and all are tried for a token without kid', async () => {
    const [old, next] = [keys, await keysOf(ecKey())];
    const token = await signedWith({}, { kid: undefined as never });
    keys = inFiles = { signing: next.signing, verifying: [...next.verifying, ...old.verifying] };
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
  });

  test('are published with the algorithms that they are for', async () => {
    const both = { ...keys, verifying: [...keys.verifying, ...(await keysOf(pems.RS256)).verifying] };
    expect(createIssuerMetadata(url, `${url}/keys`, both)).toEqual({
      issuer: url,
      jwks_uri: `${url}/keys`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
    });
  });
});

// The rest is the security table of reliability.md, as far as it speaks of tokens: by the names of its rows.

const base64url = (value: object | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

describe('JWT `alg: none`, unknown alg', () => {
  test.each(['none', 'None', 'NONE', 'nOnE', 'HS256', 'rs256', 'RS1', 'EdDSA', '', undefined, 1, ['ES256'], null])(
    '%j is refused, with a signature, without one, and with a wrong one',
    async (alg) => {
      const [, payload = '', signature = ''] = (await issue()).split('.');
      for (const end of [signature, '', 'AAAA'])
        await refusal(`${base64url({ alg, kid: keys.signing.kid })}.${payload}.${end}`);
    },
  );
});

describe('Algorithm confusion', () => {
  const hmacWith = async (secret: Buffer | string, alg: 'HS256' | 'HS512'): Promise<string> => {
    const [, payload = ''] = (await issue()).split('.');
    const text = `${base64url({ alg, kid: keys.signing.kid })}.${payload}`;
    return `${text}.${createHmac(alg === 'HS256' ? 'sha256' : 'sha512', secret)
      .update(text)
      .digest('base64url')}`;
  };

  test.each(['RS256', 'ES256'] as const)(
    'HS256 with the public key of %s is refused in all its spellings',
    async (alg) => {
      keys = inFiles = await keysOf(pems[alg]);
      const key = createPublicKey(pems[alg]);
      const jwk: JWK = keys.verifying[0] ?? {};
      for (const secret of [
        key.export({ type: 'spki', format: 'pem' }),
        key.export({ type: 'spki', format: 'pem' }).toString().trim(),
        key.export({ type: 'spki', format: 'der' }),
        JSON.stringify(jwk),
        String(jwk.n ?? jwk.x),
        keys.signing.kid,
        '',
      ]) {
        await refusal(await hmacWith(secret, 'HS256'));
        await refusal(await hmacWith(secret, 'HS512'));
      }
    },
  );

  test.each(['RS384', 'RS512', 'PS256', 'PS384', 'PS512'])('our RSA key used as %s is refused', async (alg) => {
    keys = inFiles = await keysOf(pems.RS256);
    const key = await importPKCS8(pems.RS256, alg);
    const token = await new SignJWT({ iss: url, aud: url, exp: nowSeconds + 600, 'kubernetes.io': own })
      .setProtectedHeader({ alg, kid: keys.signing.kid })
      .sign(key);
    await refusal(token);
  });

  test('a key of one type under the kid of another is refused', async () => {
    const [, payload = '', signature = ''] = (await issue()).split('.');
    for (const alg of ['RS256', 'ES384', 'ES512'])
      await refusal(`${base64url({ alg, kid: keys.signing.kid })}.${payload}.${signature}`);
  });

  test('keys that a header contains or points to are never used', async () => {
    const mine = await keysOf(ecKey());
    const [jwk] = mine.verifying;
    const claims = { iss: url, aud: url, exp: nowSeconds + 600, 'kubernetes.io': own };
    for (const kid of [keys.signing.kid, mine.signing.kid, await calculateJwkThumbprint(jwk ?? {}), undefined])
      for (const more of [{ jwk }, { jku: `${url}/keys` }, { x5u: `${url}/keys` }, { x5c: ['MIIB'] }])
        await refusal(
          await new SignJWT(claims)
            .setProtectedHeader({ alg: 'ES256', ...(kid && { kid }), ...more } as JWTHeaderParameters)
            .sign(mine.signing.key),
        );
  });

  test('a crit header is not ignored, and an unencoded payload is refused', async () => {
    const [, payload = ''] = (await issue()).split('.');
    const { alg, kid, key } = keys.signing;
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
    ['for nobody', { aud: undefined }],
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
    clock.advance(599_000);
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
    clock.advance(1_000);
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
    keys = inFiles = await keysOf(pems[alg]);
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
    expect(looks).toBe(0);
  });
});

test('JWKS flood with unknown kids: however many tokens come at once, the files are read twice at most', async () => {
  const flood = await Promise.all(Array.from({ length: 500 }, (_, at) => signedWith({}, { kid: `made-up-${at}` })));
  await Promise.all(flood.map((token) => refusal(token)));
  expect(looks).toBeLessThanOrEqual(2);
});

describe('Token cache', () => {
  test('a cached answer expires with the token', async () => {
    const cached = createTokenCache(signed, { clock, random: seededRandom(3), ttlMs: 10_000, countLookup: () => {} });
    const token = await issue([url], 600);
    clock.advance(595_000);
    expect(await cached.authenticateToken(token, call)).toBeDefined();
    clock.advance(5_000);
    await expect(Promise.resolve(cached.authenticateToken(token, call))).rejects.toThrow('expired');
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
