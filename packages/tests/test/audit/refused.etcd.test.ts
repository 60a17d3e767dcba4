/** Requests that are refused before their meaning is known: which are audited, logged and counted. */
import { connect } from 'node:tls';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type AuditedServer, policyOf, serveAudited } from './audited-server.ts';

let etcd: RealEtcd;
let audited: AuditedServer;

beforeAll(async () => {
  etcd = await startEtcd();
  audited = await serveAudited({ etcd, policy: policyOf({ level: 'Metadata' }), flags: ['--v=2'] });
});
afterAll(async () => {
  await audited.close();
  await etcd.stop();
});

/** Sends bytes and returns everything that the server sent before it closed the connection. */
async function sendRaw(bytes: string): Promise<string> {
  const { hostname, port } = new URL(audited.server.url);
  const socket = connect({ host: hostname, port: Number(port), ca: audited.server.certificate });
  socket.write(bytes);
  return text(socket);
}

const requestOf = (target: string, ...headers: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: a', 'User-Agent: raw', ...headers, '', ''].join('\r\n');
const webSocket = ['Connection: Upgrade, close', 'Upgrade: websocket', `Sec-WebSocket-Key: ${'A'.repeat(22)}==`];

const findLine = (part: string): Promise<string> =>
  until(`a log line with ${part}`, async () => audited.server.logLines.find((line) => line.includes(part)));

test.each([
  ['with two Authorization headers', requestOf('/r/identity', 'Authorization: a', 'Authorization: b'), 400],
  ['with too many headers', requestOf('/r/headers', ...Array.from({ length: 1_001 }, () => 'A: b')), 431],
  ['with an unknown expectation', requestOf('/r/expect', 'Expect: miracles'), 417],
  ['with an invalid timeout', requestOf('/r/timeout?timeout=soon', 'Connection: close'), 400],
  ['of a WebSocket of another version', requestOf('/r/version', ...webSocket, 'Sec-WebSocket-Version: 8'), 400],
  [
    'of a WebSocket with an invalid token',
    requestOf(
      '/r/token',
      ...webSocket,
      'Sec-WebSocket-Version: 13',
      'Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.!',
    ),
    401,
  ],
  ['of another origin', requestOf('/r/origin', 'Origin: https://b', 'Connection: close').replace('GET', 'PUT'), 403],
])('a request %s is audited once, logged and counted', async (_, bytes, code) => {
  const [target = ''] = /\/r\/\w+/.exec(bytes) ?? [];
  const verb = bytes.startsWith('PUT') ? 'put' : 'get';
  const answer = await sendRaw(bytes);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${code} `));
  const events = await audited.waitForEvents(target, 1);
  expect(events).toMatchObject([{ stage: 'ResponseStarted', verb, user: {}, responseStatus: { code } }]);
  const auditId = /^audit-id: (.*)\r$/im.exec(answer)?.[1];
  expect(events[0]?.auditID).toBe(auditId);
  const line = await findLine(`audit-ID="${auditId}"`);
  expect(line).toMatch(new RegExp(`"HTTP" verb="${verb}" URI="${target}.*srcIP="[^"]+" resp=${code}`));
  const page = await audited.server.metricsPage();
  expect(page).toMatch(new RegExp(`^apiserver_request_total\\{verb="${verb.toUpperCase()}",.*code="${code}"\\} `, 'm'));
});

test.each([
  ['malformed', 'broken\r\n\r\n', 400, 'malformed HTTP request'],
  ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405, 'the CONNECT method is not supported'],
  ['too large', requestOf('/r/large', `A: ${'a'.repeat(70_000)}`), 431, 'request line and headers exceed'],
])('bytes that are no request (%s) are logged and counted, and not audited', async (_, bytes, code, message) => {
  expect(await sendRaw(bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${code} `));
  expect(await findLine(`err="${message}`)).toMatch(new RegExp(`"HTTP" srcIP="[^"]+" resp=${code} `));
  expect(await audited.metric(`apiserver_unparsed_requests_total{code="${code}"}`)).toBe(1);
  // Events are written in order, so those of an earlier request would be there.
  await audited.server.request('GET', `/version?after=${code}`);
  await audited.waitForEvents(`/version?after=${code}`, 2);
  const anonymous = audited.events().filter(({ user }) => user.username === undefined);
  expect(anonymous.filter(({ requestURI }) => !/^\/r\/(?!large)/.test(requestURI))).toEqual([]);
});
