/** Service account tokens with two replicas: issued, used, invalidated, and verified by other services. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { type HttpsResponse, requestHttps } from '@cluster-apiserver/testkit/https-request';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { formatYaml } from '@cluster-apiserver/model/codec';
import { createRemoteJWKSet, customFetch, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose';
import { startProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds, type TestServerOptions } from '../serve-kinds.ts';

const accounts = '/api/v1/namespaces/team/serviceaccounts';
const whoami = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

const pem = ({ privateKey }: { privateKey: KeyObject }): string =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const newKey = (): string => pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }));

let etcd: RealEtcd;
let port: number;
let issuer: string;
let first: TestServer;
let second: TestServer;
let key: string;

const serve = (more: Partial<TestServerOptions> = {}, flags: readonly string[] = []): Promise<TestServer> =>
  serveKinds(kinds, {
    etcd,
    files: { signing: key, others: key },
    flags: [
      `--service-account-issuer=${issuer}`,
      '--service-account-signing-key-file=signing',
      '--service-account-key-file=others',
      ...flags,
    ],
    ...more,
  });

beforeAll(async () => {
  etcd = await startEtcd();
  port = (await freePorts(1))[0] as number;
  issuer = `https://127.0.0.1:${port}`;
  key = newKey();
  first = await serve({}, [`--secure-port=${port}`]);
  second = await serve();
});
afterAll(async () => {
  await second.close();
  await first.close();
  await etcd.stop();
});

const as = (token: string, server: TestServer, method: string, path: string, body?: object): Promise<HttpsResponse> =>
  requestHttps(`${server.url}${path}`, { method, ca: server.certificate, token, body });

const use = (token: string, server: TestServer): Promise<HttpsResponse> => as(token, server, 'POST', whoami, {});

interface Issued {
  readonly spec: { readonly audiences: readonly string[]; readonly expirationSeconds: number };
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

async function issue(server: TestServer, name: string, spec: object = {}): Promise<string> {
  const { status, body } = await server.request('POST', `${accounts}/${name}/token`, { spec });
  expect(status).toBe(201);
  return (body as unknown as Issued).status.token;
}

const create = (server: TestServer, name: string, metadata: object = {}): ReturnType<TestServer['request']> =>
  server.request('POST', accounts, { metadata: { name, ...metadata } });

describe('a token', () => {
  test('of an account that one replica has just created works at the other', async () => {
    for (let round = 0; round < 30; round++) {
      const name = `young-${round}`;
      const { uid } = (await create(first, name)).body.metadata;
      const { status, text } = await use(await issue(first, name), second);
      expect(status).toBe(201);
      expect(JSON.parse(text).status.userInfo).toMatchObject({
        username: `system:serviceaccount:team:${name}`,
        uid,
        groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'],
        extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^JTI=/)] },
      });
    }
  });

  test('has only the permissions of its account', async () => {
    await create(first, 'humble');
    expect(await as(await issue(first, 'humble'), first, 'GET', accounts)).toMatchObject({
      status: 403,
      text: expect.stringContaining('system:serviceaccount:team:humble'),
    });
  });

  test('becomes invalid with its account, immediately at the replica of the deletion and soon at others', async () => {
    await create(first, 'gone');
    const token = await issue(first, 'gone');
    for (const server of [first, second]) expect(await use(token, server)).toMatchObject({ status: 201 });
    await first.request('DELETE', `${accounts}/gone`);
    expect(await use(token, first)).toMatchObject({ status: 401 });
    await until(
      'the other replica to reject the token',
      async () => (await use(token, second)).status === 401 || undefined,
      5_000,
    );
  });

  test('of a deleted account costs etcd one read, however often it is used', async () => {
    const countEtcdReads = async (): Promise<number> => {
      const { text } = await as(second.token, second, 'GET', '/metrics');
      return Number(
        /^etcd_client_attempts_total\{storage_cluster_id="etcd-0",outcome="answered"\} (\d+)$/m.exec(text)?.[1],
      );
    };
    await create(first, 'spent');
    const token = await issue(first, 'spent');
    await first.request('DELETE', `${accounts}/spent`);
    await until(
      'the other replica to reject the token',
      async () => (await use(token, second)).status === 401 || undefined,
      5_000,
    );
    const before = await countEtcdReads();
    const uses = 200;
    for (let used = 0; used < uses; used++) expect(await use(token, second)).toMatchObject({ status: 401 });
    // A replica also sends a few reads of its own.
    expect((await countEtcdReads()) - before).toBeLessThan(uses / 10);
  });

  test("is checked against etcd if the replica's watch lags behind", async () => {
    const proxy = await startProxy(etcd.endpoints[0] as string);
    const behind = await serve({ etcd: { ...etcd, endpoints: [proxy.endpoint] } });
    proxy.delayMs = 300;
    const { uid } = (await create(first, 'late')).body.metadata;
    const token = await issue(first, 'late');
    const { status, text } = await use(token, behind);
    expect([status, JSON.parse(text)]).toMatchObject([201, { status: { userInfo: { uid } } }]);
    await first.request('DELETE', `${accounts}/late`);
    await create(first, 'late');
    // This replica still has the old account, or none.
    expect(await use(await issue(first, 'late'), behind)).toMatchObject({ status: 201 });
    await until(
      'the old account to be deleted',
      async () => (await use(token, behind)).status === 401 || undefined,
      5_000,
    );
    expect(await use(token, behind)).toMatchObject({ status: 401 });
    await behind.close();
    await proxy.close();
  });

  test('is invalid for a recreated account with the same name', async () => {
    await create(first, 'recreated');
    const before = await issue(first, 'recreated');
    await first.request('DELETE', `${accounts}/recreated`);
    await create(second, 'recreated');
    const after = await issue(second, 'recreated');
    for (const server of [first, second]) {
      expect(await use(before, server)).toMatchObject({ status: 401 });
      expect(await use(after, server)).toMatchObject({ status: 201 });
    }
  });

  test('stays valid for a bounded time while finalizers keep its account', async () => {
    await create(first, 'held', { finalizers: ['example.com/wait'] });
    const token = await issue(first, 'held');
    await first.request('DELETE', `${accounts}/held`);
    expect(await use(token, first)).toMatchObject({ status: 201 });
    await first.request(
      'PATCH',
      `${accounts}/held`,
      '{"metadata":{"finalizers":null}}',
      'application/merge-patch+json',
    );
    expect(await use(token, first)).toMatchObject({ status: 401 });
  });

  test('for another audience is rejected here, and a review confirms it for that audience', async () => {
    await create(first, 'guest');
    const token = await issue(first, 'guest', { audiences: ['vault'] });
    expect(await use(token, first)).toMatchObject({ status: 401 });
    const review = async (audiences: readonly string[]): Promise<unknown> =>
      (await second.request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token, audiences } }))
        .body['status'];
    expect(await review(['vault', 'x'])).toMatchObject({ authenticated: true, audiences: ['vault'] });
    expect(await review(['x'])).not.toHaveProperty('authenticated', true);
  });

  test('does not appear in logs, metrics and responses', async () => {
    await create(first, 'quiet');
    const tokens = [await issue(first, 'quiet'), await issue(first, 'quiet', { audiences: ['x'] })];
    const answers = await Promise.all(tokens.flatMap((token) => [use(token, first), use(`${token}x`, first)]));
    const metrics = await as(first.token, first, 'GET', '/metrics');
    const seen = [...first.logLines, ...answers.map(({ text }) => text), metrics.text].join('\n');
    for (const token of tokens) for (const part of token.split('.').slice(1)) expect(seen).not.toContain(part);
    expect(seen).toContain('the token is for other audiences');
  });
});

describe('a request for a token', () => {
  beforeAll(() => create(first, 'asking'));

  test("returns the issued token's properties, as YAML too", async () => {
    const body = formatYaml({ spec: { audiences: ['x'], expirationSeconds: 900 } });
    const answer = await first.request('POST', `${accounts}/asking/token`, body, 'application/yaml');
    const { spec, status } = answer.body as unknown as Issued;
    expect(spec).toEqual({ audiences: ['x'], expirationSeconds: 900 });
    const { exp = 0, iat = 0 } = decodeJwt(status.token);
    expect(exp - iat).toBe(900);
    expect(Date.parse(status.expirationTimestamp)).toBe(exp * 1000);
  });

  test('with too long a lifetime returns the shorter one', async () => {
    const strict = await serve({}, ['--service-account-max-token-expiration=2h', '--api-audiences=us,them']);
    const answer = await strict.request('POST', `${accounts}/asking/token`, { spec: { expirationSeconds: 7201 } });
    expect(answer.body['spec']).toEqual({ audiences: ['us', 'them'], expirationSeconds: 7200 });
    expect(answer.warnings).toEqual(['299 - "requested expiration of 7201 seconds shortened to 7200 seconds"']);
    await strict.close();
  });

  test('gets 404 without a signing key', async () => {
    const mute = await serveKinds(kinds, { etcd });
    expect((await mute.request('POST', `${accounts}/asking/token`, {})).status).toBe(404);
    const { resources } = (await mute.request('GET', '/api/v1')).body as unknown as { resources: { name: string }[] };
    expect(resources.map(({ name }) => name)).not.toContain('serviceaccounts/token');
    expect((await as(mute.token, mute, 'GET', '/openid/v1/jwks')).status).toBe(404);
    await mute.close();
  });
});

describe('keys', () => {
  test('are rotated without a rejected token, and tokens of removed keys become invalid', async () => {
    await create(first, 'rotated');
    const old = await issue(first, 'rotated');
    const next = newKey();
    const kidOf = (token: string): unknown => decodeProtectedHeader(token).kid;
    const both = { signing: next, others: key + next };
    for (const server of [first, second])
      for (const [file, content] of Object.entries(both)) await server.write(file, content);
    let ofNext = 0;
    await until(
      'ten tokens of the new key',
      async () => {
        const token = await issue(first, 'rotated');
        if (kidOf(token) !== kidOf(old)) ofNext++;
        for (const one of [token, old])
          for (const server of [second, first]) expect(await use(one, server)).toMatchObject({ status: 201 });
        return ofNext >= 10 || undefined;
      },
      10_000,
    );
    const last = await issue(first, 'rotated');
    for (const server of [first, second]) await server.write('others', next);
    await until(
      'tokens of the old key to be rejected',
      async () => (await use(old, second)).status === 401 || undefined,
      10_000,
    );
    expect(await use(last, second)).toMatchObject({ status: 201 });
    key = next;
  });

  test('that are invalid keep the previous ones active, and are logged', async () => {
    const server = await serve({ errorsExpected: true });
    await create(server, 'steady');
    const token = await issue(server, 'steady');
    await server.write('signing', 'hush');
    const logLine = await until(
      'the log',
      () => server.logLines.find((line) => line.includes('cannot reload')),
      10_000,
    );
    expect(logLine).toContain('--service-account-signing-key-file: signing: there is no private key in it');
    expect(logLine).not.toContain('hush');
    expect(await use(token, server)).toMatchObject({ status: 201 });
    expect(await use(await issue(server, 'steady'), server)).toMatchObject({ status: 201 });
    await server.close();
  });
});

describe('another service', () => {
  test('that only knows the issuer can verify tokens for its audience', async () => {
    await create(first, 'traveller');
    const token = await issue(second, 'traveller', { audiences: ['vault'] });
    const own = await issue(first, 'traveller');
    const fetched = async (url: string): Promise<Response> => {
      const { pathname } = new URL(url);
      const { status, text } = await as(own, first, 'GET', pathname);
      return new Response(text, { status });
    };
    const claimed = String(decodeJwt(token).iss);
    const metadata = (await (await fetched(`${claimed}/.well-known/openid-configuration`)).json()) as {
      issuer: string;
      jwks_uri: string;
    };
    expect(metadata.issuer).toBe(claimed);
    expect(metadata.jwks_uri).toBe(`${issuer}/openid/v1/jwks`);
    const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), { [customFetch]: fetched });
    const { payload } = await jwtVerify(token, keys, { issuer: claimed, audience: 'vault' });
    expect(payload.sub).toBe('system:serviceaccount:team:traveller');
    await expect(jwtVerify(own, keys, { issuer: claimed, audience: 'vault' })).rejects.toThrow('aud');
  });

  test('may cache the documents for an hour, and must authenticate unless configured otherwise', async () => {
    await create(first, 'reader');
    const token = await issue(first, 'reader');
    const answered = (path: string, more: object = {}): Promise<HttpsResponse> =>
      requestHttps(`${first.url}${path}`, { ca: first.certificate, ...more });
    const headers = { authorization: `Bearer ${token}` };
    for (const [path, type] of [
      ['/.well-known/openid-configuration', 'application/json'],
      ['/openid/v1/jwks', 'application/jwk-set+json'],
    ] as const) {
      expect((await answered(path, { headers })).headers).toMatchObject({
        'content-type': type,
        'cache-control': 'public, max-age=3600',
      });
      expect((await answered(path)).status).toBe(401);
      expect((await answered(path, { headers, method: 'DELETE' })).status).toBe(403);
    }
  });

  test('finds no documents of an issuer that is not a URL, whose tokens still work', async () => {
    const named = await serveKinds(kinds, {
      etcd,
      files: { signing: key },
      flags: ['--service-account-issuer=cluster', '--service-account-signing-key-file=signing'],
    });
    await create(named, 'local');
    expect(await use(await issue(named, 'local'), named)).toMatchObject({ status: 201 });
    expect((await as(named.token, named, 'GET', '/openid/v1/jwks')).status).toBe(404);
    await named.close();
  });
});
