/** Anonymous requests: rejected by default, accepted as configured, and never accepted with invalid credentials. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import fs from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { sendRequest, refusedUser } from './send-request.ts';
import { configuration, serve } from './configuration.ts';

let etcd: RealEtcd;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

const anonymous = 'system:anonymous';
const badCredentials = [
  ['a token', { authorization: 'Bearer nobody' }],
  ['something like a token of an issuer', { authorization: 'Bearer eyJhbGciOiJub25lIn0.e30.' }],
  ['two tokens', { authorization: 'Bearer secret secret' }],
  ['a token behind many spaces', { authorization: 'bearer    nobody' }],
] as const;

describe.each<[string, string[], boolean]>([
  ['no flag is set', [], false],
  ['the flag is false', ['--anonymous-auth=false'], false],
  ['the flag is true', ['--anonymous-auth'], true],
])('when %s', (_, flags, allowed) => {
  let server: TestServer;
  beforeAll(async () => {
    server = await serveKinds(kinds, { etcd, flags });
  });
  afterAll(() => server.close());

  test.each(['/livez', '/readyz', '/healthz'])('a probe of %s without a credential', async (path) => {
    expect((await sendRequest(server, undefined, { path })).status).toBe(
      flags.includes('--anonymous-auth=false') ? 401 : 200,
    );
  });

  // The role system:public-info-viewer is bound to all users.
  test('a request to /version without a credential', async () => {
    expect((await sendRequest(server, undefined, { path: '/version' })).status).toBe(allowed ? 200 : 401);
  });

  test.each([undefined, '/livez/ping', '/livez/', '//livez', '/metrics', '/', '/nowhere'])(
    'a request to %s without a credential',
    async (path) => {
      const response = await sendRequest(server, undefined, path === undefined ? {} : { path });
      expect([response.status, refusedUser(response)]).toEqual(allowed ? [403, anonymous] : [401, undefined]);
    },
  );

  test.each(badCredentials)('a request with an invalid credential: %s', async (_, headers) => {
    const response = await sendRequest(server, undefined, { path: '/livez', headers });
    expect([response.status, response.message]).toEqual([401, 'Unauthorized']);
  });
});

test('invalid credentials cause a bounded number of log lines', async () => {
  const server = await serveKinds(kinds, { etcd });
  try {
    for (let batch = 0; batch < 10; batch++)
      await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          sendRequest(server, `forged.${batch}.${i}`, { path: `/version?x=${batch}.${i}` }),
        ),
      );
    const lines = server.logLines.filter((line) => line.includes('authentication failed'));
    // A burst of a hundred lines, and one more each second.
    expect(lines.length).toBeGreaterThanOrEqual(1);
    expect(lines.length).toBeLessThan(200);
  } finally {
    await server.close();
  }
});

test('with the documented configuration, probes need no credential and all other requests do', async () => {
  const page = path.resolve(import.meta.dirname, '..', '..', '..', '..', 'docs', 'authentication.md');
  const [, documented = ''] = /```yaml\n([^]*?)```/.exec(fs.readFileSync(page, 'utf8')) ?? [];
  expect(documented).toContain('- path: /livez');
  const server = await serve(documented, { etcd });
  try {
    for (const probe of ['/livez', '/readyz'])
      expect((await sendRequest(server, undefined, { path: probe })).status).toBe(200);
    for (const other of ['/healthz', '/livez/ping', '/metrics', undefined])
      expect((await sendRequest(server, undefined, other === undefined ? {} : { path: other })).status).toBe(401);
  } finally {
    await server.close();
  }
});

describe.each([
  [['--authorization-always-allow-paths=/metrics,/version*'], { '/metrics': 200, '/version/': 200, '/livez': 401 }],
  [['--authorization-always-allow-paths='], { '/livez': 401, '/metrics': 401 }],
] as const)('with %j', (flags, statuses) => {
  test('only these paths accept anonymous requests', async () => {
    const server = await serveKinds(kinds, { etcd, flags });
    try {
      for (const [open, status] of Object.entries(statuses))
        expect([open, (await sendRequest(server, undefined, { path: open })).status]).toEqual([open, status]);
    } finally {
      await server.close();
    }
  });
});

test('an allowed path with a star in the middle prevents the server from starting', async () => {
  await expect(serveKinds(kinds, { etcd, flags: ['--authorization-always-allow-paths=/a*b'] })).rejects.toThrow(
    '--authorization-always-allow-paths: "/a*b": only a trailing * is allowed',
  );
});

describe('Anonymous path conditions', () => {
  let server: TestServer;
  beforeAll(async () => {
    const conditions = [{ path: '/livez' }, { path: '/readyz' }, { path: '/a b' }];
    server = await serve(configuration({ anonymous: { enabled: true, conditions } }), { etcd });
  });
  afterAll(() => server.close());

  /** Sends the target unchanged: no client library normalizes it. */
  const statusOf = async (target: string, header = ''): Promise<number> => {
    const { hostname, port } = new URL(server.url);
    const socket = tls.connect({ host: hostname, port: Number(port), ca: server.certificate, servername: 'localhost' });
    socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n${header}Connection: close\r\n\r\n`, 'latin1');
    const pieces: Buffer[] = [];
    for await (const piece of socket) pieces.push(piece as Buffer);
    return Number(/^HTTP\/1.1 (\d+)/.exec(Buffer.concat(pieces).toString('latin1'))?.[1]);
  };
  const conditioned = [
    '/livez',
    '/readyz',
    '/livez?',
    '/livez?verbose',
    '/livez?a=/readyz',
    '/%6civez',
    '/%6Civez',
    '/%6c%69%76%65%7a',
    '/a%20b',
  ];
  const others = [
    ...[
      '/',
      '/version',
      '/api',
      '/livez/',
      '/livez/ping',
      '//livez',
      '///livez',
      '/./livez',
      '/../livez',
      '/x/../livez',
    ],
    ...[
      '/livez/.',
      '/livez/..',
      '/livez//',
      '/livez;',
      '/livez;x',
      '/livez;/..',
      '/livez%3F',
      '/livez%3fverbose',
      '/livez%23',
    ],
    ...['/livez%00', '/livez%0a', '/livez%20', '/%20livez', '/livez%2F', '/livez%2f..', '/%2e/livez', '/%2E%2E/livez'],
    ...['/LIVEZ', '/Livez', '/liveZ', '/livezz', '/live', '/live%7', '/%2flivez', '/%5clivez', '/livez%5c', '/livez\\'],
    ...['/%256civez', '/l%69vez%', '/livez&x', '/livez=', '/livez:443', '/livez@x', '/livez,/readyz', '/livez|/readyz'],
    ...['/livez+', '/a+b', '/a', '/a%2520b', '/healthz', '/metrics', '/openapi/v2', '/openapi/v3', '/docs', '/apis'],
    ...['/api/v1/namespaces/livez', '/api/v1/namespaces/a/serviceaccounts/livez', '/readyz/livez', '/readyz/etcd'],
    ...[
      '/livez#',
      '/livez#x',
      '*',
      'https://localhost/healthz',
      '%2Flivez',
      'https://localhost//livez',
      'https://localhost/livez/',
      'https://localhost',
    ],
    ...[
      '/\u00ecivez',
      '/l%c3%acvez',
      '/livez%e2%80%8b',
      '/%ef%bb%bflivez',
      '/livez%ff',
      '/livez%c0%af',
      '/constructor',
    ],
    ...['/__proto__', '/toString', '/hasOwnProperty', '/prototype'],
  ];
  // Variants of the other paths that might match by a normalization error.
  const variants = [
    ...others,
    ...others.map((target) => `${target}?x=/livez`),
    ...others.map((target) => `${target}#/livez`),
  ];

  test.each(conditioned)('accept %s', async (target) => {
    // This configuration only allows the anonymous request; the probes need no permission either.
    expect(await statusOf(target)).toBe(target === '/a%20b' ? 403 : 200);
    for (const [, { authorization }] of badCredentials)
      expect(await statusOf(target, `Authorization: ${authorization}\r\n`)).toBe(401);
  });

  test('a target in absolute form is judged by its path', async () => {
    expect(await statusOf('https://localhost/livez')).toBe(200);
  });

  test('reject all other paths in every spelling', async () => {
    expect(variants.length).toBeGreaterThan(200);
    for (const target of variants) {
      const status = await statusOf(target);
      // A malformed target is rejected before authentication.
      expect([target, [400, 401].includes(status)]).toEqual([target, true]);
    }
  });
});
