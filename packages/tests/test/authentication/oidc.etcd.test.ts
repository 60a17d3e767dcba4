/** OIDC authentication end to end: a token of a real provider, its discovery document, and the user of the request. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { type JWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { sendRequest, refusedUser } from './send-request.ts';
import { jwtAuthenticator, configuration, file, flag, reconfigure, serve } from './configuration.ts';
import { audience, type RealIssuer, startIssuer } from './issuer.ts';

let etcd: RealEtcd;
let issuer: RealIssuer;
let stranger: RealIssuer;
let server: TestServer;

const members = { groups: ['system:masters'] };

beforeAll(async () => {
  [etcd, issuer, stranger] = await Promise.all([startEtcd(), startIssuer(), startIssuer()]);
  server = await serve(configuration({ jwt: [jwtAuthenticator(issuer)] }), { etcd, errorsExpected: true });
}, 60_000);
afterAll(async () => {
  await server.close();
  await Promise.all([issuer.close(), stranger.close(), etcd.stop()]);
});
beforeEach(() => {
  issuer.claims = {};
});

test('a token authenticates its user, whose groups authorize', async () => {
  const response = await sendRequest(server, await issuer.token());
  expect([response.status, refusedUser(response)]).toEqual([403, 'p:robot']);
  issuer.claims = members;
  expect((await sendRequest(server, await issuer.token())).status).toBe(200);
});

test('no valid token is rejected while keys are rotated', async () => {
  issuer.claims = members;
  const first = await issuer.token();
  expect((await sendRequest(server, first)).status).toBe(200);
  await issuer.rotate();
  const second = await issuer.token();
  expect(second.split('.')[0]).not.toBe(first.split('.')[0]);
  // The server has just fetched keys, so it fetches the new ones later; the old key stays valid.
  const fresh = await issuer.token();
  const waiting = Promise.all([sendRequest(server, second), sendRequest(server, fresh)]);
  for (let count = 0; count < 5; count++) expect((await sendRequest(server, first)).status).toBe(200);
  expect((await waiting).map(({ status }) => status)).toEqual([200, 200]);
  expect((await sendRequest(server, first)).status).toBe(200);
}, 30_000);

test('tokens stay valid while the issuer is stopped, also tokens that were never used before', async () => {
  issuer.claims = members;
  expect((await sendRequest(server, await issuer.token())).status).toBe(200);
  const tokens = await Promise.all(Array.from({ length: 5 }, () => issuer.token()));
  await issuer.stop();
  try {
    for (const token of tokens) expect((await sendRequest(server, token)).status).toBe(200);
    // A reload that keeps the issuer keeps its keys.
    await reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer, {}, 'q:')] }));
    for (const token of tokens) expect((await sendRequest(server, token)).status).toBe(200);
    expect(refusedUser(await sendRequest(server, await issuer.sign({})))).toBe('q:robot');
  } finally {
    await issuer.restart();
    await reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer)] }));
  }
});

/** Threats against OIDC authentication, one test each. */
describe('threats', () => {
  const now = (): number => Math.floor(systemClock.now() / 1000);
  const expectRejected = async (token: string): Promise<void> => {
    const { status, text } = await sendRequest(server, token);
    expect([status, JSON.parse(text).message]).toEqual([401, 'Unauthorized']);
  };
  const header = async (change: object, signature?: string): Promise<string> => {
    const [first, payload, last] = (await issuer.sign({})).split('.') as [string, string, string];
    const changed = { ...JSON.parse(Buffer.from(first, 'base64url').toString()), ...change };
    return `${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${payload}.${signature ?? last}`;
  };

  test.each(['none', 'None', 'NONE', 'nOnE', '', 'HS256', 'HS512', 'es256', 'RSA1_5', 'dir', 1, null, ['ES256']])(
    'JWT alg: none, unknown alg: %j',
    async (alg) => {
      await expectRejected(await header({ alg }));
      await expectRejected(await header({ alg }, ''));
    },
  );

  test('JWT alg: none, unknown alg: as an unsigned token', async () => {
    await expectRejected(new UnsecuredJWT({ iss: issuer.url, aud: audience, sub: 'robot', exp: now() + 60 }).encode());
  });

  describe('Algorithm confusion', () => {
    const claims = (): JWTPayload => ({ iss: issuer.url, aud: audience, sub: 'robot', exp: now() + 60 });
    const kid = (): string => issuer.publicKey().kid ?? '';

    test.each([
      ['its JSON', (key: JWK) => JSON.stringify(key)],
      ['its coordinates', (key: JWK) => `${key.x}${key.y}`],
      ['its x coordinate', (key: JWK) => key.x ?? ''],
    ])('HS256 with the public key as secret: %s', async (_, text) => {
      const secret = Buffer.from(text(issuer.publicKey()));
      await expectRejected(await new SignJWT(claims()).setProtectedHeader({ alg: 'HS256', kid: kid() }).sign(secret));
    });

    test.each(['jwk', 'jku', 'x5u', 'x5c'])('the header %s is ignored', async (name) => {
      const values = {
        jwk: stranger.publicKey(),
        jku: `${stranger.url}/jwks`,
        x5u: `${stranger.url}/jwks`,
        x5c: ['AAAA'],
      };
      stranger.requestedPaths.length = 0;
      const key = { [name]: values[name as keyof typeof values], kid: kid() };
      await expectRejected(await stranger.sign({ iss: issuer.url }, key));
      expect(stranger.requestedPaths).toEqual([]);
      // With a valid signature the header has no effect.
      expect(
        refusedUser(await sendRequest(server, await issuer.sign({}, { [name]: values[name as keyof typeof values] }))),
      ).toBe('p:robot');
    });

    test.each([
      ['crit', { crit: ['b64'], b64: false }],
      ['an unknown crit', { crit: ['x'], x: 1 }],
      ['b64: false', { b64: false }],
      ['zip and enc', { alg: 'dir', enc: 'A256GCM' }],
    ])('%s', async (_, change) => {
      await expectRejected(await header(change));
    });

    test('an algorithm of another key type or curve', async () => {
      await Promise.all(['RS256', 'PS512', 'ES384', 'EdDSA'].map(async (alg) => expectRejected(await header({ alg }))));
    }, 30_000);

    test('a token with five parts', async () => {
      await expectRejected(`${await issuer.sign({})}.x.y`);
    });
  });

  describe('kid injection', () => {
    // No such key exists: the server fetches the keys once more when that is due, and does not find it.
    test('an unknown kid', async () => {
      const kids = ['../key-0', '/dev/null', "' or 1=1 --", '', 'x'.repeat(8_000), 'key-0 ', 'KEY-0', '__proto__'];
      await Promise.all(kids.map(async (kid) => expectRejected(await issuer.sign({}, { kid }))));
    }, 30_000);

    test.each([1, null, {}, ['key-0'], true])('%j', async (kid) => {
      await expectRejected(await header({ kid }));
    });

    test('a token without a kid is verified with every key', async () => {
      expect(refusedUser(await sendRequest(server, await issuer.sign({}, { kid: undefined })))).toBe('p:robot');
    });
  });

  describe('Wrong aud/iss/exp/nbf/iat; types', () => {
    test.each<[string, () => JWTPayload]>([
      ['another audience', () => ({ aud: 'clusters' })],
      ['other audiences', () => ({ aud: ['a', 'b'] })],
      ['no audience', () => ({ aud: undefined as never })],
      ['another issuer', () => ({ iss: stranger.url })],
      ['the issuer with a trailing slash', () => ({ iss: `${issuer.url}/` })],
      ['the issuer in upper case', () => ({ iss: issuer.url.toUpperCase() })],
      ['expired', () => ({ exp: now() - 1 })],
      ['expired long ago', () => ({ exp: -1 })],
      ['an exp that is a string', () => ({ exp: `${now() + 60}` as never })],
      ['no exp', () => ({ exp: undefined as never })],
      ['nbf in two minutes', () => ({ nbf: now() + 120 })],
      ['an nbf that is a string', () => ({ nbf: 'now' as never })],
      ['an iat that is a string', () => ({ iat: 'now' as never })],
      ['no name', () => ({ sub: undefined as never })],
      ['an empty name', () => ({ sub: '' })],
    ])('%s', async (_, claims) => {
      await expectRejected(await issuer.sign(claims()));
    });

    test.each<[string, () => JWTPayload]>([
      ['one of several audiences', () => ({ aud: ['a', audience] })],
      ['an exp in the far future', () => ({ exp: 1e300 })],
      ['nbf in half a minute', () => ({ nbf: now() + 30 })],
    ])('but accepts %s', async (_, claims) => {
      expect(refusedUser(await sendRequest(server, await issuer.sign(claims())))).toBe('p:robot');
    });
  });

  test('Huge / malformed tokens', async () => {
    const good = await issuer.sign({});
    const [first, payload, last] = good.split('.') as [string, string, string];
    const bad = [
      'x'.repeat(60_000),
      '.'.repeat(10_000),
      '..',
      `${first}.${payload}`,
      `${first}..${last}`,
      `${first}.${payload}.`,
      `.${payload}.${last}`,
      `${good}=`,
      `${good}AAAA`,
      `${first}.${payload}!.${last}`,
      `${first}.${Buffer.from('[1]').toString('base64url')}.${last}`,
      `${first}.${Buffer.from(`{"iss":${JSON.stringify(issuer.url)}`).toString('base64url')}.${last}`,
      `${first}.${Buffer.from(`{"iss":${JSON.stringify(issuer.url)},"x":${'['.repeat(20_000)}`).toString('base64url')}.${last}`,
    ];
    for (const token of bad)
      expect([token.slice(0, 60), (await sendRequest(server, token)).status]).toEqual([token.slice(0, 60), 401]);
    expect((await sendRequest(server, good)).status).toBe(403);
  });

  test('Distributed claims: a server outside of the CA bundle of the issuer gives no groups, and gets no token', async () => {
    stranger.requestedPaths.length = 0;
    const token = await issuer.sign({
      _claim_names: { groups: 'x' },
      _claim_sources: { x: { endpoint: `${stranger.url}/groups`, access_token: 'y' } },
    });
    await expectRejected(token);
    expect(stranger.requestedPaths).toEqual([]);
  });

  test('Token cache: the key is the whole token, and entries end with the token', async () => {
    const ends = now() + 2;
    const endsSoon = await issuer.sign({ exp: ends });
    expect((await sendRequest(server, endsSoon)).status).toBe(403);
    for (const other of [`${endsSoon}A`, endsSoon.slice(0, -1), endsSoon.toUpperCase()]) await expectRejected(other);
    expect((await sendRequest(server, endsSoon)).status).toBe(403);
    await until('its end', () => (now() > ends ? true : undefined));
    await expectRejected(endsSoon);
  });

  test('Secrets in logs/traces/metrics: neither a token nor its claims', async () => {
    const canary = 'canary-7e1f';
    for (const claims of [{ sub: canary, aud: 'x' }, { sub: canary, exp: 1 }, { groups: { canary } }, { [canary]: 1 }])
      await sendRequest(server, await issuer.sign(claims));
    const token = await issuer.sign({ sub: canary });
    await sendRequest(server, `${token}x`);
    const metrics = await sendRequest(server, server.token, { path: '/metrics' });
    expect(metrics.status).toBe(200);
    const everything = [...server.logLines, metrics.text].join('\n');
    expect(everything).toContain('authentication failed');
    expect(everything).not.toContain(canary);
    for (const part of token.split('.')) expect(everything).not.toContain(part);
  });
});

describe('a validation rule that fails', () => {
  const rules = {
    claimValidationRules: [
      { claim: 'tenant', requiredValue: 'canary-tenant' },
      { expression: "claims.level == 'high'", message: 'only for the high' },
    ],
    userValidationRules: [
      { expression: "!user.username.startsWith('p:system')", message: 'reserved prefix' },
      { expression: "user.username != 'p:quiet'" },
    ],
  };
  const good = { tenant: 'canary-tenant', level: 'high' };

  beforeAll(() => reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer, rules)] })));
  afterAll(() => reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer)] })));

  test('does not affect other users', async () => {
    expect((await sendRequest(server, await issuer.sign(good))).status).toBe(403);
  });

  test.each([
    ['of claims', { ...good, level: 'canary-level' }, 'only for the high', 'claimValidationRules[1]'],
    ['of users', { ...good, sub: 'system:canary' }, 'reserved prefix', 'userValidationRules[0]'],
    ['without a message', { ...good, sub: 'quiet' }, 'Unauthorized', 'userValidationRules[1]'],
    ['with a required claim value', { ...good, tenant: 'canary' }, 'Unauthorized', 'claimValidationRules[0]'],
    ['whose expression fails', { tenant: good.tenant }, 'Unauthorized', 'claimValidationRules[1]'],
  ])('%s returns its message, and the log names the rule', async (_, claims, expectedMessage, name) => {
    const before = server.logLines.length;
    const { status, text } = await sendRequest(server, await issuer.sign(claims));
    expect(JSON.parse(text)).toMatchObject({ kind: 'Status', status: 'Failure', reason: 'Unauthorized', code: 401 });
    expect([status, JSON.parse(text).message]).toEqual([401, expectedMessage]);
    const line = server.logLines.slice(before).find((one) => one.includes('authentication failed')) ?? '';
    expect(line).toContain(name);
    expect(text).not.toContain('canary');
    expect(line).not.toContain('canary');
  });
});

describe('a changed configuration', () => {
  test('applies to every request from one moment on', async () => {
    const names = new Set<string | undefined>();
    let asking = true;
    const callers = Array.from({ length: 4 }, async () => {
      while (asking) names.add(refusedUser(await sendRequest(server, await issuer.sign({}))));
    });
    for (const prefix of ['a:', 'b:', 'c:'])
      await reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer, {}, prefix)] }));
    expect(refusedUser(await sendRequest(server, await issuer.sign({})))).toBe('c:robot');
    asking = false;
    await Promise.all(callers);
    expect(names).toEqual(new Set(['a:robot', 'b:robot', 'c:robot', 'p:robot']));
    await reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer)] }));
  }, 30_000);

  test('applies immediately to cached tokens', async () => {
    const token = await issuer.sign({});
    await reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer, {}, 'd:')] }));
    expect(refusedUser(await sendRequest(server, token))).toBe('d:robot');
    await reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer, {}, 'e:')] }));
    expect(refusedUser(await sendRequest(server, token))).toBe('e:robot');
    await reconfigure(server, configuration({}));
    expect((await sendRequest(server, token)).status).toBe(401);
    await reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer)] }));
  });

  test('that is invalid changes nothing, and is logged and counted', async () => {
    for (const prefix of ['f:', 'p:'])
      await reconfigure(server, configuration({ jwt: [jwtAuthenticator(issuer, {}, prefix)] }));
    const token = await issuer.sign({});
    const before = server.logLines.length;
    await reconfigure(
      server,
      configuration({ jwt: [jwtAuthenticator(issuer, { userValidationRules: [{ expression: 'x' }] })] }),
    );
    const line = server.logLines.slice(before).find((one) => one.includes('cannot reload the configuration')) ?? '';
    expect(line).toContain('jwt[0].userValidationRules[0].expression');
    expect(refusedUser(await sendRequest(server, token))).toBe('p:robot');
    const { text } = await sendRequest(server, server.token, { path: '/metrics' });
    const prefix = 'apiserver_authentication_config_controller';
    const replica = 'apiserver_id_hash="sha256:[0-9a-f]{64}"';
    for (const line of [
      `automatic_reloads_total{SERVER,status="failure"} 1`,
      `automatic_reloads_total{SERVER,status="success"} [1-9]\\d*`,
      `automatic_reload_last_timestamp_seconds{SERVER,status="failure"} [1-9][\\d.e+]*`,
      `last_config_info{SERVER,hash="sha256:[0-9a-f]{64}"} 1`,
    ])
      expect([line, text.match(new RegExp(`^${prefix}_${line.replace('SERVER', replica)}$`, 'gm'))?.length]).toEqual([
        line,
        1,
      ]);
    await server.write(file, configuration({ jwt: [jwtAuthenticator(issuer)] }));
  });
});

test.each<[string, string[], object, string[]]>([
  [
    'an invalid file',
    [flag],
    {
      jwt: [authenticatorWithoutAudience(), { claimMappings: {} }],
      anonymous: { enabled: false, conditions: [{ path: '/x' }] },
    },
    [
      '--authentication-config: jwt[0].issuer.url: Invalid value: "http://x": URL scheme must be https',
      '--authentication-config: jwt[1].issuer: Required value',
      '--authentication-config: jwt[1].claimMappings.username: Required value: claim or expression is required',
      '--authentication-config: anonymous.conditions: Invalid value: ["/x"]: enabled should be set to true',
    ],
  ],
  [
    'a file and mutually exclusive flags',
    [flag, '--oidc-issuer-url=https://x', '--oidc-client-id=x'],
    {},
    ['--authentication-config and --oidc-issuer-url exclude each other'],
  ],
  [
    'the flag and the field for anonymous requests',
    [flag, '--anonymous-auth=false'],
    { anonymous: { enabled: true } },
    ['anonymous: Forbidden: --anonymous-auth flag cannot be set'],
  ],
  [
    'an issuer without an audience',
    ['--oidc-issuer-url=https://x'],
    {},
    ['needs both --oidc-issuer-url and --oidc-client-id'],
  ],
  [
    'an issuer without TLS',
    ['--oidc-issuer-url=http://x', '--oidc-client-id=x', '--oidc-signing-algs=HS256'],
    {},
    ['--oidc-signing-algs: HS256 is none of RS256'],
  ],
  [
    'an issuer with an invalid URL',
    ['--oidc-issuer-url=http://x', '--oidc-client-id=x'],
    {},
    ['--oidc-issuer-url: Invalid value: "http://x": URL scheme must be https'],
  ],
])('the server does not start with %s, and reports all errors', async (_, flags, content, faults) => {
  const start = serveKinds(kinds, { etcd, flags, files: { [file]: configuration(content) } });
  const error: unknown = await start.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Error);
  for (const fault of faults) expect((error as Error).message).toContain(fault);
});

function authenticatorWithoutAudience(): object {
  return { issuer: { url: 'http://x', audiences: ['a'] }, claimMappings: { username: { claim: 'sub', prefix: '' } } };
}

describe('the flags of OIDC', () => {
  let flagged: TestServer;
  beforeAll(async () => {
    flagged = await serveKinds(kinds, {
      etcd,
      errorsExpected: true,
      files: { 'ca.crt': issuer.certificateAuthority },
      flags: [
        `--oidc-issuer-url=${issuer.url}`,
        `--oidc-client-id=${audience}`,
        '--oidc-ca-file=ca.crt',
        '--oidc-groups-claim=groups',
        '--oidc-groups-prefix=system:',
        '--oidc-required-claim=tenant=a,b',
        '--oidc-required-claim=level=high',
        '--oidc-signing-algs=ES256',
      ],
    });
  });
  afterAll(() => flagged.close());

  test('are equivalent to a configuration file', async () => {
    const good = { tenant: 'a,b', level: 'high' };
    expect(refusedUser(await sendRequest(flagged, await issuer.sign(good)))).toBe(`${issuer.url}#robot`);
    expect((await sendRequest(flagged, await issuer.sign({ ...good, groups: ['masters'] }))).status).toBe(200);
    expect((await sendRequest(flagged, await issuer.sign({ ...good, tenant: 'a' }))).status).toBe(401);
    expect((await sendRequest(flagged, await issuer.sign({ tenant: 'a,b' }))).status).toBe(401);
  });
});
