/** Whatever a client makes the server log repeatedly, the number of lines is bounded. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import https from 'node:https';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { kinds } from '@cluster-apiserver/kinds';
import { putRaw } from '@cluster-apiserver/testkit/etcd-gateway';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

let server: TestServer;
let agent: https.Agent;
const accounts = '/api/v1/namespaces/team/serviceaccounts';
const corruptKey = '/registry/serviceaccounts/team/corrupt';

beforeAll(async () => {
  server = await serveKinds(kinds, { errorsExpected: true });
  agent = new https.Agent({ keepAlive: true, maxSockets: 20, ca: server.certificate });
  await server.request('POST', accounts, { metadata: { name: 'whole' } });
  await putRaw(server.etcd.endpoints[0] as string, corruptKey, Buffer.from('{"metadata":{"name":"x"}}'));
});
afterAll(async () => {
  agent.destroy();
  await server.close();
});

async function send(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return (await requestHttps(`${server.url}${path}`, { method, agent, headers })).status;
}

async function sendBytes(bytes: Buffer, overTls: boolean): Promise<void> {
  const { hostname: host, port } = new URL(server.url);
  const socket = overTls
    ? connectTls({ host, port: Number(port), rejectUnauthorized: false })
    : connect(Number(port), host);
  socket.on('error', () => {}); // the server may reset the connection
  socket.end(bytes);
  socket.resume();
  await once(socket, 'close');
}

const admin = (): Record<string, string> => ({ authorization: `Bearer ${server.token}` });
const forged = `x.${Buffer.from('{"iss":"https://elsewhere"}').toString('base64url')}.y`;

/** More than the burst of lines that the log writes for one message. */
const times = 250;
/** The burst, and the lines of the seconds that a slow machine needs. */
const linesMax = 160;

test.each<[string, (nth: number) => Promise<unknown>, string | undefined]>([
  [
    'made-up tokens',
    async (nth) => expect(await send('GET', accounts, { authorization: `Bearer nobody-${nth}` })).toBe(401),
    'authentication failed',
  ],
  [
    'forged tokens',
    async () => expect(await send('GET', accounts, { authorization: `Bearer ${forged}` })).toBe(401),
    'authentication failed',
  ],
  ['no tokens', async (nth) => expect(await send('GET', `${accounts}/${nth}`, {})).toBe(401), undefined],
  [
    'an impersonated uid without a user',
    (nth) => send('GET', accounts, { ...admin(), 'impersonate-uid': `${nth}` }),
    undefined,
  ],
  [
    'reads of an unreadable object',
    async () => expect(await send('GET', `${accounts}/corrupt`, admin())).toBe(500),
    'stored object unreadable',
  ],
  [
    'lists with an unreadable object',
    (nth) => send('GET', `${accounts}?a=${nth}`, admin()),
    'stored object unreadable',
  ],
  ['paths that do not exist', (nth) => send('GET', `/nowhere/${nth}`, admin()), undefined],
  ['rejected writes', (nth) => send('PUT', `${accounts}/x${nth}`, admin()), undefined],
  ['bytes that are not TLS', (nth) => sendBytes(Buffer.from(`GET /${nth} HTTP/1.1\r\n\r\n`), false), undefined],
  ['bytes that are not HTTP', (nth) => sendBytes(Buffer.from(`${nth} \0\r\n\r\n`), true), undefined],
  ['connections that are closed at once', () => sendBytes(Buffer.alloc(0), false), undefined],
])('repeated %s cause a bounded number of log lines', async (_, act, message) => {
  const before = server.logLines.length;
  for (let sent = 0; sent < times; sent += 10)
    await Promise.all(Array.from({ length: 10 }, (_value, nth) => act(sent + nth)));
  // The garbage collector reports the corrupt object, and the log the suppressed lines of previous tests, at their own
  // pace; a busy machine is slow, and may miss the renewal of its leadership.
  const lines = server.logLines
    .slice(before)
    .filter((line) => !/garbage collection|leadership|stopped controllers|"slow re| suppressed=\d+/.test(line));
  expect(lines.length).toBeLessThan(linesMax);
  for (const line of lines) expect(line).toContain(message ?? 'no line at all');
  // Each entry is exactly one line, whatever it contains.
  for (const line of lines) expect(line.indexOf('\n')).toBe(line.length - 1);
});

test('repeated failing health checks cause a bounded number of log lines', async () => {
  const before = server.logLines.length;
  const [member] = server.etcd.members;
  await member?.signal('SIGSTOP');
  const probes = Array.from({ length: times }, () => send('GET', '/readyz', admin()));
  expect(new Set(await Promise.all(probes))).toEqual(new Set([500]));
  await member?.signal('SIGCONT');
  await until('etcd', async () => (await send('GET', '/readyz', admin())) === 200 || undefined);
  const lines = server.logLines.slice(before).filter((line) => line.includes('health check'));
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(linesMax);
});
