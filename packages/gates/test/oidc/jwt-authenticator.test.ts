import { type Call, callUntil } from '@cluster-apiserver/base';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { compile, type Expression, type Type, types } from '@cluster-apiserver/expressions';
import type { UserInfo } from '@cluster-apiserver/model';
import { type JWTPayload, SignJWT } from 'jose';
import {
  createHttpsClient,
  createDocumentFetcher,
  IssuerKeys,
  createJwtAuthenticator,
  type JwtIssuer,
  TokenRejectedError,
} from '../../src/index.ts';
import { untilTurned as waitFor } from '@cluster-apiserver/testkit/until';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { type Answer, type Provider, startProvider } from './provider.ts';

const call = callUntil(Number.POSITIVE_INFINITY);

const claimTypes = { claims: types.map(types.string, types.dyn) };
const userTypes = {
  user: types.object('UserInfo', { username: types.string, uid: types.string, groups: types.list(types.string) }),
};
const nowSeconds = 1_800_000_000;

let provider: Provider;
let clock: FakeClock;
let fetching = 0;
/** When the issuer was asked where its keys are. */
let askedAtMs: number[] = [];
let authenticate: (token: string, as?: Call) => Promise<UserInfo | undefined>;
const stopped = new AbortController();

beforeAll(async () => {
  provider = await startProvider();
});
afterAll(async () => {
  stopped.abort(new Error('the test is over'));
  await provider.close();
});
beforeEach(async () => {
  provider.answers.clear();
  provider.published = [];
  await provider.rotate('first');
  provider.asked.length = 0;
  authenticate = authenticatorWith({});
});

/** With a clock of its own, and nothing fetched yet. */
function authenticatorWith({
  discoveryUrl,
  ...part
}: Partial<JwtIssuer> & { readonly discoveryUrl?: string }): typeof authenticate {
  clock = fakeClock(nowSeconds * 1000);
  askedAtMs = [];
  const get = createDocumentFetcher(createHttpsClient({ clock, ca: provider.certificateAuthority }), clock);
  const configured: JwtIssuer = {
    issuer: { url: provider.url, audiences: ['cluster'] },
    keys: new IssuerKeys({
      address: { url: provider.url, discoveryUrl },
      fetch: async (url, signal) => {
        if (url.endsWith('configuration')) askedAtMs.push(clock.monotonicMs());
        fetching++;
        return get(url, signal).finally(() => fetching--);
      },
      clock,
      signal: stopped.signal,
      failed: () => {},
    }),
    claimRules: [],
    claimMappings: {
      username: { from: 'claim', claim: 'sub', prefix: 'p:' },
      groups: { from: 'claim', claim: 'groups', prefix: 'g:' },
      uid: undefined,
      extra: [],
    },
    userRules: [],
    ...part,
  };
  const authenticator = createJwtAuthenticator([configured], clock);
  return async (token, as = call) => (await authenticator.authenticateToken(token, as))?.user;
}

/** Some of them are wrong on purpose, so their types are not looked at. */
const claims = (part: Readonly<Record<string, unknown>> = {}): JWTPayload => ({
  iss: provider.url,
  aud: ['other', 'cluster'],
  sub: 'al',
  exp: nowSeconds + 60,
  groups: ['a', 'b'],
  ...part,
});

const al = { name: 'p:al', groups: ['g:a', 'g:b', 'system:authenticated'] };

async function rejection(token: string): Promise<TokenRejectedError> {
  const error: unknown = await authenticate(token).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(TokenRejectedError);
  return error as TokenRejectedError;
}

function expression(text: string, variables: Readonly<Record<string, Type>> = claimTypes): Expression {
  const compiled = compile(text, variables);
  if ('faults' in compiled) throw new Error(compiled.faults.join('\n'));
  return compiled.expression;
}

test.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'])(
  'whoever bears a token that the issuer signed with %s is known by its claims',
  async (alg) => {
    await provider.rotate(alg, alg);
    expect(await authenticate(await provider.sign(claims()))).toEqual(al);
    expect(provider.asked).toEqual(['/.well-known/openid-configuration', '/keys']);
  },
);

test('no opinion on tokens of other issuers and malformed tokens, without any request to the issuer', async () => {
  const token = await provider.sign(claims({ iss: 'https://elsewhere' }));
  for (const other of [token, 'a.b.c', 'a.b', 'opaque', `${token}.x`, 'x'.repeat(70_000)])
    expect(await authenticate(other)).toBeUndefined();
  expect(provider.asked).toEqual([]);
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
    ['for nobody', { aud: undefined }, 'other audiences'],
    ['for an audience within a list', { aud: [['cluster']] }, 'other audiences'],
    ['without a name', { sub: undefined }, 'the username is no text'],
    ['with an empty name', { sub: '' }, 'the username is empty'],
    ['with a list of names', { sub: ['hush'] }, 'the username is no text'],
    ['with a group that is a number', { groups: [1] }, 'the groups is no text'],
    ['with groups that are an object', { groups: {} }, 'neither a text nor a list'],
  ])('%s', async (_, part, reason) => {
    const error = await rejection(await provider.sign(claims(part)));
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
    expect(await authenticate(await provider.sign(claims(part)))).toEqual(al);
  });

  test.each(['none', 'None', 'NONE', 'HS256', 'rs256', 'ES256K', 'RSA-OAEP', '', 1, null, ['RS256'], undefined])(
    'with the algorithm %j, before its issuer is asked for keys',
    async (alg) => {
      const [, payload, signature] = (await provider.sign(claims())).split('.') as [string, string, string];
      const header = Buffer.from(JSON.stringify({ alg, kid: 'first' })).toString('base64url');
      for (const signed of [signature, '']) {
        const error = await rejection(`${header}.${payload}.${signed}`);
        expect(error.message).toContain('algorithm that is allowed');
      }
      expect(provider.asked).toEqual([]);
    },
  );

  test('with an algorithm that is not among those of this issuer', async () => {
    authenticate = authenticatorWith({ algorithms: ['RS256'] });
    expect((await rejection(await provider.sign(claims()))).message).toContain('algorithm that is allowed');
    await provider.rotate('rsa', 'RS256');
    expect(await authenticate(await provider.sign(claims()))).toEqual(al);
  });

  test('that is signed with the public key as a shared secret', async () => {
    const secret = Buffer.from(JSON.stringify(provider.published[0]));
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
    const [header, , signature] = (await provider.sign(claims())).split('.') as [string, string, string];
    const payload = Buffer.from(JSON.stringify(claims({ sub: 'root' }))).toString('base64url');
    expect((await rejection(`${header}.${payload}.${signature}`)).message).toContain('no key of the issuer');
  });

  test.each(['first', 'other', '../first', "' or 1=1", 'x'.repeat(10_000)])(
    'or taken by its signature alone: the kid %.20s only picks a key',
    async (kid) => {
      provider.published = provider.published.map((key) => ({ ...key, kid }));
      expect(await authenticate(await provider.sign(claims(), { kid }))).toEqual(al);
    },
  );

  test('with a kid that is a number', async () => {
    expect((await rejection(await provider.sign(claims(), { kid: 1 }))).message).toContain('kid');
  });

  test('unless it has no kid, when every key is tried', async () => {
    const token = await provider.sign(claims(), { kid: undefined });
    await provider.rotate('second');
    expect(await authenticate(token)).toEqual(al);
  });
});

describe('keys', () => {
  const unknown = (): Promise<string> => provider.sign(claims(), { kid: 'nobody knows' });
  const fetches = (): number => provider.asked.filter((path) => path === '/keys').length;

  test('are fetched once for concurrent requests', async () => {
    const token = await provider.sign(claims());
    expect(await Promise.all(Array.from({ length: 50 }, () => authenticate(token)))).toEqual(
      Array.from({ length: 50 }, () => al),
    );
    expect(fetches()).toBe(1);
  });

  test('that were just rotated in are accepted, whenever the keys were last fetched', async () => {
    await authenticate(await provider.sign(claims()));
    await provider.rotate('second');
    const soon = authenticate(await provider.sign(claims()));
    await waitFor(() => clock.waiting > 0);
    expect(fetches()).toBe(1);
    clock.advance(10_000);
    expect(await soon).toEqual(al);
    clock.advance(60_000);
    provider.published = [];
    await provider.rotate('third');
    expect(await authenticate(await provider.sign(claims({ exp: nowSeconds + 600 })))).toEqual(al);
    expect(fetches()).toBe(3);
  });

  test('(JWKS flood with unknown kids) that are unknown cause one fetch in ten seconds, however many tokens name them', async () => {
    const token = await unknown();
    for (let round = 0; round < 3; round++) {
      let open = 200;
      for (let count = open; count > 0; count--) void rejection(token).then(() => open--);
      await waitFor(() => {
        if (clock.waiting > 0 && fetching === 0) clock.advance(1000);
        return open === 0;
      });
    }
    expect(askedAtMs.length).toBeGreaterThan(2);
    for (const [index, atMs] of askedAtMs.slice(1).entries())
      expect(atMs - (askedAtMs[index] as number)).toBeGreaterThanOrEqual(10_000);
  });

  test('that are known stay valid while the issuer is unavailable', async () => {
    const token = await provider.sign(claims({ exp: nowSeconds + 1e6 }));
    await authenticate(token);
    provider.answers.set('/.well-known/openid-configuration', fail);
    for (let days = 0; days < 5; days++) {
      clock.advance(86_400_000);
      expect(await authenticate(token)).toEqual(al);
    }
  });

  test('that have not been used for a week are fetched again before use', async () => {
    const token = await provider.sign(claims({ exp: nowSeconds + 1e6 }));
    await authenticate(token);
    provider.published = [];
    clock.advance(7 * 86_400_000);
    let open = true;
    const refused = rejection(token).finally(() => (open = false));
    await waitFor(() => {
      if (open && clock.waiting > 0 && fetching === 0) clock.advance(1_000);
      return !open;
    });
    expect((await refused).message).toContain('no key');
  });

  test('stay valid for a week at most while the issuer is unavailable', async () => {
    const token = await provider.sign(claims({ exp: nowSeconds + 1e6 }));
    await authenticate(token);
    provider.answers.set('/.well-known/openid-configuration', fail);
    clock.advance(7 * 86_400_000);
    expect(await authenticate(token)).toEqual(al);
    clock.advance(10_000);
    expect((await rejection(token)).message).toContain('cannot be fetched');
  });

  test('that were added recently are fetched for a token without kid', async () => {
    await authenticate(await provider.sign(claims()));
    await provider.rotate('second');
    const token = await provider.sign(claims(), { kid: undefined });
    expect((await rejection(token)).message).toContain('no key');
    clock.advance(10_000);
    expect(await authenticate(token)).toEqual(al);
  });

  test('are fetched once in ten seconds, however many forged tokens come', async () => {
    const token = await provider.sign(claims());
    await authenticate(token);
    const forged = `${token.slice(0, -8)}AAAAAAAA`;
    for (let count = 0; count < 50; count++) await rejection(forged);
    expect(fetches()).toBe(1);
    clock.advance(10_000);
    for (let count = 0; count < 50; count++) await rejection(forged);
    expect(fetches()).toBe(2);
  });

  test('are not awaited by a caller that disconnects, and are fetched for the others', async () => {
    const answer = Promise.withResolvers<Answer>();
    provider.answers.set('/keys', answer.resolve);
    const token = await provider.sign(claims());
    const gone = new AbortController();
    const leaving = authenticate(token, { ...call, signal: gone.signal });
    const staying = authenticate(token);
    const held = await answer.promise;
    gone.abort(new Error('the client left'));
    await expect(leaving).rejects.toThrow('the client left');
    held.end(JSON.stringify({ keys: provider.published }));
    expect(await staying).toEqual(al);
  });

  test('of an issuer that does not answer are requested once in ten seconds, and tokens do not wait', async () => {
    provider.answers.set('/.well-known/openid-configuration', fail);
    const token = await provider.sign(claims());
    for (let count = 0; count < 20; count++) expect((await rejection(token)).message).toContain('cannot be fetched');
    expect(askedAtMs).toEqual([nowSeconds * 1000]);
    provider.answers.clear();
    clock.advance(10_000);
    expect(await authenticate(token)).toEqual(al);
  });

  test('that the issuer has withdrawn are dropped after a while', async () => {
    const token = await provider.sign(claims({ exp: nowSeconds + 1e6 }));
    await authenticate(token);
    provider.published = [];
    clock.advance(600_001);
    expect(await authenticate(token)).toEqual(al); // asks beside this request
    await waitFor(() => fetches() === 2);
    await waitFor(
      async () => (clock.advance(10_000), (await authenticate(token).catch(() => 'refused')) === 'refused'),
    );
  });

  test.each<[string, string, (answer: Answer) => void]>([
    [
      'another issuer',
      '/.well-known/openid-configuration',
      (answer) => answer.end(JSON.stringify({ issuer: 'https://x', jwks_uri: `${provider.url}/keys` })),
    ],
    [
      'keys without TLS',
      '/.well-known/openid-configuration',
      (answer) => answer.end(JSON.stringify({ issuer: provider.url, jwks_uri: 'http://localhost/keys' })),
    ],
    [
      'no address of keys',
      '/.well-known/openid-configuration',
      (answer) => answer.end(JSON.stringify({ issuer: provider.url })),
    ],
    ['a redirect', '/keys', (answer) => answer.writeHead(302, { location: `${provider.url}/elsewhere` }).end()],
    ['no JSON', '/keys', (answer) => answer.end('<html>')],
    ['no list', '/keys', (answer) => answer.end('{"keys":{}}')],
    ['more than anybody needs', '/keys', (answer) => answer.end(' '.repeat(2 * 1024 * 1024))],
    [
      'more keys than anybody needs',
      '/keys',
      (answer) => answer.end(JSON.stringify({ keys: Array.from({ length: 51 }, () => ({ kty: 'RSA' })) })),
    ],
    ['half an answer', '/keys', (answer) => (answer.write('{"keys":['), answer.destroy())],
  ])('(Discovery issuer mismatch; redirects; SSRF) are not taken from %s', async (_, path, respond) => {
    provider.answers.set(path, respond);
    expect((await rejection(await provider.sign(claims()))).message).toContain('cannot be fetched');
    expect(provider.asked).not.toContain('/elsewhere');
  });

  test('are not accepted from a server with an untrusted certificate', async () => {
    const stranger = await startProvider();
    try {
      authenticate = authenticatorWith({ discoveryUrl: `${stranger.url}/.well-known/openid-configuration` });
      expect((await rejection(await provider.sign(claims()))).message).toContain('cannot be fetched');
      expect(stranger.asked).toEqual([]);
    } finally {
      await stranger.close();
    }
  });

  test("can be discovered at another URL than the issuer's", async () => {
    authenticate = authenticatorWith({ discoveryUrl: `${provider.url}/discover` });
    expect(await authenticate(await provider.sign(claims()))).toEqual(al);
    expect(provider.asked).toEqual(['/discover', '/keys']);
  });
});

describe('an operator can configure', () => {
  test('how claims become a user, in expressions', async () => {
    authenticate = authenticatorWith({
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
    expect(await authenticate(await provider.sign(claims({ roles: 'a,b', oid: 'o', tenant: 't' })))).toEqual({
      name: 'u:al',
      uid: 'o',
      groups: ['a', 'b', 'system:authenticated'],
      extra: { 'example.com/tenant': ['t'], 'example.com/some': ['x'] },
    });
  });

  test('rules about the ID of a token, which is an extra value as in kube-apiserver', async () => {
    const key = 'authentication.kubernetes.io/credential-id';
    expect(await authenticate(await provider.sign(claims({ jti: 't1' })))).toMatchObject({
      extra: { [key]: ['JTI=t1'] },
    });
    for (const jti of ['', 1])
      expect(await authenticate(await provider.sign(claims({ jti })))).not.toHaveProperty('extra');
  });

  test('claim validation rules and their messages', async () => {
    authenticate = authenticatorWith({
      claimRules: [
        { by: 'claim', claim: 'hd', requiredValue: 'x' },
        { by: 'expression', expression: expression("claims.tenant == 'hush'"), message: 'ask for the tenant' },
      ],
    });
    expect((await rejection(await provider.sign(claims({ tenant: 'hush' })))).clientMessage).toBeUndefined();
    expect((await rejection(await provider.sign(claims({ hd: 'y', tenant: 'hush' })))).message).toContain('[0]');
    const refused = await rejection(await provider.sign(claims({ hd: 'x', tenant: 'secret' })));
    expect(refused.clientMessage).toBe('ask for the tenant');
    expect(refused.message).toContain('claimValidationRules[1]');
    expect(refused.message).not.toContain('secret');
    expect(await authenticate(await provider.sign(claims({ hd: 'x', tenant: 'hush' })))).toEqual(al);
  });

  test('user validation rules', async () => {
    authenticate = authenticatorWith({
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
    expect((await rejection(await provider.sign(claims({ sub: 'system:admin' })))).clientMessage).toBe(
      'reserved prefix',
    );
    expect(await authenticate(await provider.sign(claims()))).toEqual({ name: 'al', groups: ['system:authenticated'] });
  });

  test('that the user name is an email, which must then be verified', async () => {
    authenticate = authenticatorWith({
      claimMappings: {
        username: { from: 'claim', claim: 'email', prefix: '' },
        groups: undefined,
        uid: undefined,
        extra: [],
      },
    });
    for (const email_verified of [false, 'true', null])
      expect((await rejection(await provider.sign(claims({ email: 'a@b.c', email_verified })))).message).toContain(
        'not verified',
      );
    for (const part of [{ email_verified: true }, {}])
      expect(await authenticate(await provider.sign(claims({ email: 'a@b.c', ...part })))).toMatchObject({
        name: 'a@b.c',
      });
  });

  test('an expression that never ends, without delaying others', async () => {
    const endless = 'claims.l.all(a, claims.l.all(b, claims.l.all(c, claims.l.all(d, true))))';
    authenticate = authenticatorWith({
      claimRules: [{ by: 'expression', expression: expression(endless), message: 'no' }],
    });
    const error = await rejection(await provider.sign(claims({ l: Array(100).fill(1) })));
    expect((error.cause as Error).name).toBe('BudgetExceededError');
  });

  test('no claim source that makes the server fetch groups from a URL in the token', async () => {
    const token = await provider.sign(
      claims({
        groups: undefined,
        _claim_names: { groups: 'src' },
        _claim_sources: { src: { endpoint: `${provider.url}/groups` } },
      }),
    );
    expect(await authenticate(token)).toEqual({ name: 'p:al', groups: ['system:authenticated'] });
    expect(provider.asked).not.toContain('/groups');
  });
});

test('claims named like inherited object properties are ordinary claims', async () => {
  authenticate = authenticatorWith({
    claimMappings: {
      username: { from: 'claim', claim: 'constructor', prefix: '' },
      groups: { from: 'claim', claim: '__proto__', prefix: '' },
      uid: undefined,
      extra: [{ key: 'a.io/a', expression: expression("claims.?toString.orValue('')") }],
    },
  });
  expect((await rejection(await provider.sign(claims()))).message).toContain('the username is no text');
  const own = JSON.parse('{"constructor":"c","__proto__":["g"]}') as JWTPayload;
  expect(await authenticate(await provider.sign({ ...claims(), ...own, constructor: 'c' }))).toMatchObject({
    name: 'c',
  });
});

const fail = (answer: Answer): void => void answer.writeHead(503).end();
