/** Token authentication webhooks: a real webhook behind real TLS, called by the assembled server. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';
import { systemClock, systemRandom } from '@cluster-apiserver/base';
import { createAuthority, type CertificateAuthority } from '@cluster-apiserver/certificates';
import { kinds } from '@cluster-apiserver/kinds';
import { type TestAuthority, testAuthority } from '../../../certificates/test/test-authority.ts';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { openClient, type ClientResponse, userOf } from './identity-client.ts';
import { kubeconfig } from '../kubeconfig.ts';

interface ReceivedReview {
  readonly apiVersion: string;
  readonly spec: { readonly token: string; readonly audiences?: readonly string[] };
  readonly authorization: string | undefined;
  readonly certificate: string | undefined;
}

let authority: CertificateAuthority;
let clients: TestAuthority;
let etcd: RealEtcd;
let webhook: https.Server;
let calls: ReceivedReview[];
let answer: (review: ReceivedReview, response: ServerResponse) => void;
let server: TestServer | undefined;

beforeAll(async () => {
  authority = await createAuthority('webhooks', systemClock, systemRandom());
  clients = await testAuthority('clients of webhooks');
  etcd = await startEtcd();
  const { certificate, privateKey } = await authority.issueForServer({ commonName: 'webhook', hosts: ['127.0.0.1'] });
  webhook = https.createServer(
    { cert: certificate, key: privateKey, ca: clients.certificate, requestCert: true, rejectUnauthorized: false },
    (request, response) => void reviewFor(request, response),
  );
  webhook.listen(0, '127.0.0.1');
  await once(webhook, 'listening');
});
async function reviewFor(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const review = JSON.parse(await text(request)) as ReceivedReview;
  const certificate = (request.socket as TLSSocket).getPeerX509Certificate()?.subject;
  const one = { ...review, authorization: request.headers.authorization, certificate };
  calls.push(one);
  answer(one, response);
}
afterAll(async () => {
  webhook.closeAllConnections();
  webhook.close();
  await etcd.stop();
});
beforeEach(() => {
  calls = [];
});
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const respondWith =
  (status: object, kind = 'TokenReview') =>
  ({ apiVersion }: ReceivedReview, response: ServerResponse): void =>
    void response.end(JSON.stringify({ apiVersion, kind, status }));
const cat = {
  username: 'cat',
  uid: 'u1',
  groups: ['pets'],
  extra: { scopes: ['purr'], ['__proto__']: ['x'] },
};

async function serve(flags: readonly string[] = [], user: object = {}): Promise<TestServer> {
  const { port } = webhook.address() as AddressInfo;
  const config = kubeconfig({ server: `https://127.0.0.1:${port}/`, 'certificate-authority': 'ca.crt' }, user);
  const { chain, privateKey } = await clients.issue({ subject: [['CN', 'apiserver']] });
  server = await serveKinds(kinds, {
    etcd,
    flags: ['--authentication-token-webhook-config-file=/hook/config', ...flags],
    files: {
      '/hook/config': config,
      '/hook/ca.crt': authority.certificate,
      '/hook/own.crt': chain,
      '/hook/own.key': privateKey,
      '/hook/token': 'ours\n',
    },
  });
  return server;
}

async function whoami(at: TestServer, token: string): Promise<ClientResponse> {
  const client = openClient(at, 'HTTP/1.1');
  try {
    return await client.send({ authorization: `Bearer ${token}` });
  } finally {
    client.close();
  }
}

test('a token that the webhook knows authenticates the user that it returns', async () => {
  answer = respondWith({ authenticated: true, user: cat });
  const at = await serve();
  expect(userOf(await whoami(at, 'meow'))).toEqual({ ...cat, groups: ['pets', 'system:authenticated'] });
  expect(calls).toEqual([
    { apiVersion: 'authentication.k8s.io/v1beta1', kind: 'TokenReview', spec: { token: 'meow' } },
  ]);
  expect(userOf(await whoami(at, at.token))).toMatchObject({ username: 'admin' });
  expect(calls).toHaveLength(1);
});

test('the webhook receives the configured version, audiences and credentials', async () => {
  answer = respondWith({ authenticated: true, user: cat, audiences: ['us', 'them'] });
  const user = { 'client-certificate': 'own.crt', 'client-key': 'own.key', tokenFile: 'token' };
  const at = await serve(['--authentication-token-webhook-version=v1', '--api-audiences=us,we'], user);
  expect(userOf(await whoami(at, 'meow'))).toMatchObject({ username: 'cat' });
  expect(calls).toMatchObject([
    {
      apiVersion: 'authentication.k8s.io/v1',
      spec: { token: 'meow', audiences: ['us', 'we'] },
      authorization: 'Bearer ours',
      certificate: 'CN=apiserver',
    },
  ]);
  const review = async (audiences: string[]): Promise<unknown> =>
    (await at.request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token: 'meow', audiences } }))
      .body['status'];
  expect(await review(['them', 'others'])).toMatchObject({ authenticated: true, audiences: ['them'] });
  expect(await review(['others'])).toEqual({ user: {}, error: 'invalid bearer token' });
});

test('credentials are reloaded when they change', async () => {
  answer = respondWith({ authenticated: true, user: cat });
  const at = await serve(['--authentication-token-webhook-cache-ttl=0s'], { tokenFile: 'token' });
  await at.write('/hook/token', 'new\n');
  await until('the new token', async () => {
    await whoami(at, 'meow');
    return calls.at(-1)?.authorization === 'Bearer new' ? true : undefined;
  });
  expect(calls[0]?.authorization).toMatch(/^Bearer (ours|new)$/);
});

test('responses are cached, and rejected tokens are checked again', async () => {
  answer = respondWith({ authenticated: true, user: cat });
  const at = await serve();
  for (let times = 0; times < 3; times++) expect((await whoami(at, 'meow')).status).toBe(201);
  expect(calls).toHaveLength(1);
  answer = respondWith({ authenticated: false, error: 'a dog' });
  for (let times = 0; times < 2; times++) expect((await whoami(at, 'woof')).status).toBe(401);
  expect(calls).toHaveLength(3);
});

test('the webhook is called for each request without a cache', async () => {
  answer = respondWith({ authenticated: true, user: cat });
  const at = await serve(['--authentication-token-webhook-cache-ttl=0s']);
  for (let times = 0; times < 2; times++) expect((await whoami(at, 'meow')).status).toBe(201);
  expect(calls).toHaveLength(2);
});

test.each([429, 500, 503, 504])('a status of %d is temporary, and the call is retried', async (status) => {
  answer = (one, response) => {
    if (calls.length === 1) response.writeHead(status).end();
    else respondWith({ authenticated: true, user: cat })(one, response);
  };
  expect(userOf(await whoami(await serve(), 'meow'))).toMatchObject({ username: 'cat' });
  expect(calls).toHaveLength(2);
});

test('a broken connection is reopened', async () => {
  answer = (one, response) => {
    if (calls.length === 1) response.destroy();
    else respondWith({ authenticated: true, user: cat })(one, response);
  };
  expect(userOf(await whoami(await serve(), 'meow'))).toMatchObject({ username: 'cat' });
});

describe('authentication fails, and the log states the reason without the token', () => {
  test.each<[string, (one: ReceivedReview, response: ServerResponse) => void]>([
    ['a 403', (_, response) => void response.writeHead(403).end()],
    ['a redirect', (_, response) => void response.writeHead(302, { location: 'https://127.0.0.1:1/' }).end()],
    ['a body that is not JSON', (_, response) => void response.end('meow')],
    ['nothing', (_, response) => void response.end()],
    ['null', (_, response) => void response.end('null')],
    ['another kind', respondWith({ authenticated: true, user: cat }, 'SubjectAccessReview')],
    ['no status', (_, response) => void response.end('{"kind":"TokenReview"}')],
    ['a user without a name', respondWith({ authenticated: true, user: { groups: ['system:masters'] } })],
    ['no user', respondWith({ authenticated: true })],
    ['groups that are not a list', respondWith({ authenticated: true, user: { ...cat, groups: 'system:masters' } })],
    ['extra values that are not lists', respondWith({ authenticated: true, user: { ...cat, extra: { a: 'b' } } })],
    ['too many bytes', (_, response) => void response.end(' '.repeat(2 * 1024 * 1024))],
  ])('on %s', async (_, answers) => {
    answer = answers;
    const at = await serve();
    expect((await whoami(at, 'meow-secret')).status).toBe(401);
    const log = at.logLines.join('\n');
    expect(log).toContain('token webhook failed');
    expect(log).not.toContain('meow-secret');
  });

  test('on any value but true', async () => {
    for (const authenticated of [undefined, null, 'true', 1, {}]) {
      answer = respondWith({ authenticated, user: cat });
      expect((await whoami(server ?? (await serve()), 'meow')).status).toBe(401);
    }
  });

  test('on an untrusted CA', async () => {
    answer = respondWith({ authenticated: true, user: cat });
    const other = await createAuthority('webhooks', systemClock, systemRandom());
    const { port } = webhook.address() as AddressInfo;
    const config = kubeconfig({ server: `https://127.0.0.1:${port}/`, 'certificate-authority': 'ca' });
    server = await serveKinds(kinds, {
      etcd,
      flags: ['--authentication-token-webhook-config-file=config'],
      files: { config, ca: other.certificate },
    });
    expect((await whoami(server, 'meow')).status).toBe(401);
    expect(calls).toEqual([]);
  });
});

test('an invalid kubeconfig is reported with its flag', async () => {
  const flags = ['--authentication-token-webhook-config-file=config'];
  await expect(serveKinds(kinds, { etcd, flags, files: { config: 'kind: Config' } })).rejects.toThrow(
    /--authentication-token-webhook-config-file: apiVersion: expected v1/,
  );
});
