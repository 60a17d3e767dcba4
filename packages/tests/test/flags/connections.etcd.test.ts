/** Flags of the listener and of request limits, seen from outside: real TLS, HTTP/1.1 and HTTP/2. */
import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import tls, { type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { serverUsage, type TestAuthority, testAuthority } from '../../../certificates/test/test-authority.ts';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

const accounts = '/api/v1/namespaces/team/serviceaccounts';

let etcd: RealEtcd;
let clients: TestAuthority;
let server: TestServer;
const sessions: ClientHttp2Session[] = [];

beforeAll(async () => {
  [etcd, clients] = await Promise.all([startEtcd(), testAuthority('clients')]);
});
afterAll(() => etcd.stop());
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await server.close();
});

/** Ann is allowed everything, but is not exempt from limits as system:masters is. */
async function serve(...flags: readonly string[]): Promise<void> {
  server = await serveKinds(kinds, {
    etcd,
    errorsExpected: true,
    flags: ['--client-ca-file=clients.crt', '--authorization-mode=RBAC,AlwaysAllow', ...flags],
    files: { 'clients.crt': clients.certificate },
  });
}

async function openSession(): Promise<ClientHttp2Session> {
  const { chain, privateKey } = await clients.issue({ subject: [['CN', 'ann']] });
  const session = connect(server.url, { ca: server.certificate, cert: chain, key: privateKey });
  session.on('error', () => {});
  sessions.push(session);
  await once(session, 'remoteSettings');
  return session;
}

function send(session: ClientHttp2Session, method: string, path: string, body?: object): ClientHttp2Stream {
  const stream = session.request({ ':method': method, ':path': path, 'content-type': 'application/json' });
  stream.on('error', () => {});
  stream.end(body && JSON.stringify(body));
  return stream;
}

async function statusOf(stream: ClientHttp2Stream): Promise<number> {
  const [headers] = (await once(stream, 'response')) as [{ readonly ':status': number }];
  stream.resume();
  return headers[':status'];
}

test('--tls-cert-file and --tls-private-key-file are what the server shows', async () => {
  const authority = await testAuthority('servers');
  const { chain, privateKey, certificate } = await authority.issue({
    subject: [['CN', 'shown']],
    usages: [serverUsage],
    hosts: ['127.0.0.1'],
  });
  server = await serveKinds(kinds, {
    etcd,
    flags: ['--tls-cert-file=shown.crt', '--tls-private-key-file=shown.key'],
    files: {
      'shown.crt': chain,
      'shown.key': privateKey,
      // What serveKinds trusts.
      'certificates/apiserver.crt': authority.certificate,
    },
  });
  const socket: TLSSocket = tls.connect({
    host: '127.0.0.1',
    port: Number(new URL(server.url).port),
    ca: authority.certificate,
  });
  await once(socket, 'secureConnect');
  expect(socket.getPeerX509Certificate()?.toString()).toBe(certificate);
  socket.destroy();
});

test('--http2-max-streams-per-connection is announced to clients', async () => {
  await serve('--http2-max-streams-per-connection=7');
  expect((await openSession()).remoteSettings.maxConcurrentStreams).toBe(7);
});

test('--goaway-chance makes clients of HTTP/2 open another connection', async () => {
  await serve('--goaway-chance=0.02');
  const session = await openSession();
  let wentAway = false;
  session.once('goaway', () => (wentAway = true));
  await until('a GOAWAY', async () => {
    if (wentAway || session.closed) return wentAway || undefined;
    // Many, because the pauses between polls grow, and each request has the chance.
    const requests = Array.from({ length: 50 }, () => statusOf(send(session, 'GET', accounts)).catch(() => 0));
    await Promise.all(requests);
    return wentAway || undefined;
  });
});

test('--max-connections-per-peer closes the connections above it', async () => {
  // One of them is that of serveKinds.
  await serve('--max-connections-per-peer=3');
  const [first, second] = await Promise.all([openSession(), openSession()]);
  const fourth = tls.connect({ host: '127.0.0.1', port: Number(new URL(server.url).port), ca: server.certificate });
  const closed = new Promise<void>((resolve) => fourth.once('close', () => resolve()));
  fourth.on('error', () => {}); // it may be reset
  await closed;
  for (const session of [first, second]) expect(await statusOf(send(session, 'GET', accounts))).toBe(200);
});

test('--max-watches-per-user rejects a watch above it with 429', async () => {
  await serve('--max-watches-per-user=2');
  const session = await openSession();
  const watch = (): ClientHttp2Stream => send(session, 'GET', `${accounts}?watch=true`);
  const open = [watch(), watch()];
  for (const stream of open) expect(await statusOf(stream)).toBe(200);
  expect(await statusOf(watch())).toBe(429);
  open[0]?.close();
  await until('a place for another watch', async () => (await statusOf(watch())) === 200 || undefined);
});

test.each([
  { flag: '--max-requests-inflight', method: 'GET', others: 'POST' },
  { flag: '--max-mutating-requests-inflight', method: 'POST', others: 'GET' },
])(
  '$flag with --enable-priority-and-fairness=false rejects what is above it with 429, and no $others',
  async ({ flag, method, others }) => {
    await serve(`${flag}=1`, '--enable-priority-and-fairness=false');
    const session = await openSession();
    let created = 0;
    const ask = (verb: string): Promise<number> =>
      statusOf(
        verb === 'GET'
          ? send(session, verb, accounts)
          : send(session, verb, accounts, { metadata: { name: `${flag.replaceAll('-', '')}-${created++}` } }),
      );
    // Each waits for etcd, so that several of one turn are in flight together.
    const [limited, unlimited] = await Promise.all([
      Promise.all(Array.from({ length: 30 }, () => ask(method))),
      Promise.all(Array.from({ length: 30 }, () => ask(others))),
    ]);
    expect(limited).toContain(429);
    expect(unlimited).not.toContain(429);
  },
);

test('--request-timeout ends a request whose body does not arrive', async () => {
  await serve('--request-timeout=300ms');
  const session = await openSession();
  const stream = session.request({ ':method': 'POST', ':path': accounts, 'content-type': 'application/json' });
  stream.on('error', () => {});
  stream.write('{');
  expect(await statusOf(stream)).toBe(408);
});

test('--delete-collection-workers deletes a collection with several workers', async () => {
  await serve('--delete-collection-workers=4');
  for (let n = 0; n < 20; n++) await server.request('POST', accounts, { metadata: { name: `held-${n}` } });
  expect((await server.request('DELETE', accounts)).status).toBe(200);
  expect((await server.request('GET', accounts)).body.items).toEqual([]);
});

test('--min-request-timeout bounds a watch without timeoutSeconds', async () => {
  await serve('--min-request-timeout=1');
  const watch = await server.open('GET', `${accounts}?watch=true`);
  watch.resume();
  await once(watch, 'end');
});
