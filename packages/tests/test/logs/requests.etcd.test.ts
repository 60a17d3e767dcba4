/** Request log lines of the whole server with a real etcd. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import https from 'node:https';
import { openHttps, requestHttps } from '@cluster-apiserver/testkit/https-request';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

let server: TestServer;
let agent: https.Agent;
let seen: number;
const accounts = '/api/v1/namespaces/team/serviceaccounts';

beforeAll(async () => {
  server = await serveKinds(kinds, { flags: ['--v=2', '--anonymous-auth=false'], errorsExpected: true });
  agent = new https.Agent({ keepAlive: true, ca: server.certificate });
  await server.request('POST', accounts, { metadata: { name: 'first' } });
});
afterAll(async () => {
  agent.destroy();
  await server.close();
});
afterEach(() => {
  seen = server.logLines.length;
});

async function send(method: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const all = { authorization: `Bearer ${server.token}`, 'user-agent': 'tester/1', ...headers };
  return (await requestHttps(`${server.url}${path}`, { method, agent, headers: all })).status;
}

/** Waits for the line with this message and audit ID; it is written after the response was sent. */
const lineOf = (auditId: string, message = 'HTTP'): Promise<string> =>
  until(`the line of ${auditId}`, () =>
    server.logLines.slice(seen).find((line) => line.includes(`] "${message}" `) && line.includes(`"${auditId}"`)),
  );

describe('At --v=2 the log has a line for a request', () => {
  test.each<[string, string, string, Readonly<Record<string, string>>, RegExp]>([
    [
      'that is read',
      'GET',
      `${accounts}/first`,
      {},
      /verb="get" URI="\/api\/v1\/namespaces\/team\/serviceaccounts\/first" latency="[\d.]+ms" userAgent="tester\/1" audit-ID="[\w-]+" srcIP="127\.0\.0\.1" user="admin" resource="serviceaccounts" resp=200 bytes=[1-9]\d* (.* )?storage="[\d.]+ms"/,
    ],
    [
      'that lists',
      'GET',
      `${accounts}?limit=2&labelSelector=a%3Db`,
      {},
      /verb="list" URI="[^"]*\?limit=2&labelSelector=a%3Db" .*resp=200/,
    ],
    [
      'of a group',
      'GET',
      '/apis/rbac.authorization.k8s.io/v1/clusterroles',
      {},
      /resource="clusterroles\.rbac\.authorization\.k8s\.io"/,
    ],
    ['of a document', 'GET', '/version', {}, /verb="get" URI="\/version" .* user="admin" resp=200/],
    [
      'without credentials',
      'GET',
      accounts,
      { authorization: 'Bearer made-up' },
      /verb="list" [^\n]*srcIP="127\.0\.0\.1" resource="serviceaccounts" resp=401/,
    ],
    [
      'without permission',
      'GET',
      accounts,
      { 'impersonate-user': 'bob' },
      /user="bob" impersonator="admin" .*resp=403/,
    ],
    ['for a missing object', 'GET', `${accounts}/none`, {}, /resp=404/],
    ['with an unsupported method', 'OPTIONS', '/version', {}, /verb="options" .*resp=405/],
    ['with an invalid path', 'GET', '/a%zz', {}, /verb="get" URI="\/a%zz" .*resp=400/],
  ])('%s', async (name, method, path, headers, line) => {
    const auditId = `line-${name.replaceAll(' ', '-')}`;
    await send(method, path, { 'audit-id': auditId, ...headers });
    expect(await lineOf(auditId)).toMatch(line);
    expect(server.logLines.filter((one) => one.includes(auditId) && one.includes('"HTTP"'))).toHaveLength(1);
  });

  test('that writes, with the times that it waited', async () => {
    const auditId = 'line-write';
    const body = { metadata: { name: 'second' } };
    const headers = { 'audit-id': auditId };
    await requestHttps(`${server.url}${accounts}`, { method: 'POST', agent, token: server.token, headers, body });
    const line = await lineOf(auditId);
    expect(line).toMatch(/verb="create" .*resp=201 bytes=[1-9]\d* (.* )?storage="[\d.]+ms"/);
    expect(line).not.toContain('userAgent');
  });

  test('that watches, at its end', async () => {
    const auditId = 'line-watch';
    await send('GET', `${accounts}?watch=1&timeoutSeconds=1`, { 'audit-id': auditId });
    const line = await lineOf(auditId);
    expect(line).toMatch(/verb="watch" URI="[^"]*\?watch=1&timeoutSeconds=1" latency="1\d{3}\.\d+ms"/);
    expect(line).toContain(' end="timeout"');
    expect(line).not.toContain('sending=');
    expect(server.logLines.filter((one) => one.includes('"slow re') && one.includes(auditId))).toEqual([]);
  });

  test('that its client canceled', async () => {
    const auditId = 'line-aborted';
    const { certificate: ca, token } = server;
    const headers = { 'audit-id': auditId };
    const watch = await openHttps(`${server.url}${accounts}?watch=1`, { ca, token, headers });
    watch.destroy();
    expect(await lineOf(auditId)).toContain(' end="client" aborted=true');
  });
});

test('client input can neither forge lines nor expose secrets', async () => {
  const auditId = 'line-forged';
  await send('GET', `/a%0aE0101?token=hush1&access_token=hush2&hush3&limit=1&Bearer%20hush4=x`, {
    'audit-id': auditId,
    // Node's client sends no control characters except tabs, and these two bytes, which are one character in UTF-8.
    'user-agent': 'a" user="admin"\t\u00c2\u009b2J Bearer hush5hush',
    authorization: `Bearer ${server.token}`,
  });
  const line = await lineOf(auditId);
  expect(line.indexOf('\n')).toBe(line.length - 1);
  expect(line).toContain('token=[hidden]&access_token=[hidden]&[hidden]&limit=1');
  expect(line).toContain(String.raw`userAgent="a\" user=\"admin\"\t\u009b2J [hidden]"`);
  expect(line).toContain(' user="admin" resp=');
  expect(line).not.toMatch(/hush[1235]/);
  expect(line).not.toContain(server.token);
});

/** The injected fault: longer than a request may take without being logged as slow. */
const stallMs = 800;

test('a slow request is logged with the times that it waited at any verbosity', async () => {
  const quiet = await serveKinds(kinds, { etcd: server.etcd });
  try {
    const [member] = server.etcd.members;
    const { certificate: ca, token } = quiet;
    const headers = { 'audit-id': 'slow-read' };
    await member?.signal('SIGSTOP');
    const responded = requestHttps(`${quiet.url}${accounts}/first`, { ca, token, headers });
    await sleep(clock, stallMs);
    await member?.signal('SIGCONT');
    await responded;
    const line = await until('the line', () => quiet.logLines.find((one) => one.includes('"slow-read"')));
    expect(line).toMatch(/^I\d{4} .* http\] "slow request" verb="get" .*resp=200 .*storage="\d{3,}\.\d{3}ms"/);
    expect(quiet.logLines.filter((one) => one.includes('"HTTP"'))).toEqual([]);
  } finally {
    await quiet.close();
  }
});

describe('/statusz, /flagz and /', () => {
  test.each(['/statusz', '/flagz', '/'])('%s is served only with permission', async (path) => {
    expect(await send('GET', path)).toBe(200);
    expect(await send('GET', path, { authorization: '' })).toBe(401);
    expect(await send('GET', path, { 'impersonate-user': 'bob' })).toBe(403);
  });

  test.each(['/statusz', '/flagz'])('%s is served to system:monitoring', async (path) => {
    const monitoring = { 'impersonate-user': 'bob', 'impersonate-group': 'system:monitoring' };
    expect(await send('GET', path, monitoring)).toBe(200);
    expect(await send('GET', '/', monitoring)).toBe(403);
  });

  test('/flagz shows the effective flags', async () => {
    const accept = 'application/json;v=v1beta1;g=config.k8s.io;as=Flagz';
    const { text } = await requestHttps(`${server.url}/flagz`, { agent, token: server.token, headers: { accept } });
    const { flags } = JSON.parse(text) as { flags: Readonly<Record<string, string>> };
    expect(flags).toMatchObject({
      v: '2',
      'anonymous-auth': 'false',
      'event-ttl': '1h0m0s',
      'token-auth-file': 'tokens',
      'system-namespaces': 'default,kube-system,kube-public',
      'oidc-issuer-url': '',
    });
  });

  test('/ lists the paths', async () => {
    const { body } = await server.request('GET', '/');
    expect((body as unknown as { paths: readonly string[] }).paths).toEqual(
      expect.arrayContaining([
        '/api/v1',
        '/apis',
        '/flagz',
        '/livez',
        '/metrics',
        '/openapi/v3',
        '/statusz',
        '/version',
      ]),
    );
  });
});

test('dropped lines are counted', async () => {
  const text = await server.metricsPage();
  for (const reason of ['rate_limit', 'backlog', 'output_error'])
    expect(text).toMatch(new RegExp(`^apiserver_log_lines_omitted_total\\{reason="${reason}"\\} \\d+$`, 'm'));
});
