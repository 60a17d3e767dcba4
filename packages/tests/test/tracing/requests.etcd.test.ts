/** Traces of real requests, as a receiver of OTLP over gRPC gets them. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { canary } from '@cluster-apiserver/testkit/leaks';
import type { ReceivedSpan } from '@cluster-apiserver/testkit/otlp-receiver';
import { type RequestOptions, sendRequest } from '../authentication/send-request.ts';
import type { TestServer } from '../serve-kinds.ts';
import { requestSpan, serveTraced, startTracedServer, spansOf, treeOf } from './traced-server.ts';

const { etcd, receiver, server } = await startTracedServer();

const accounts = '/api/v1/namespaces/team/serviceaccounts';
for (const name of ['read', 'patched', 'deleted']) await server.request('POST', accounts, { metadata: { name } });
let requestCount = 0;
const newAuditId = (): string => `trace-${++requestCount}`;

/** The spans of a request, starting with the request's own. */
async function traced(
  request: RequestOptions & { readonly token?: string | undefined },
): Promise<readonly ReceivedSpan[]> {
  const auditId = newAuditId();
  const { token } = 'token' in request ? request : server;
  await sendRequest(server, token, { ...request, headers: { 'audit-id': auditId, ...request.headers } });
  return spansOf(receiver, auditId);
}
const requestIn = (spans: readonly ReceivedSpan[]): ReceivedSpan => spans[0] as ReceivedSpan; // spansOf waits for this span
const names = (spans: readonly ReceivedSpan[]): string[] => treeOf(spans, ({ name }) => name);

describe('The spans of a request are', () => {
  const collection = '/api/v1/namespaces/{:namespace}/serviceaccounts';
  const object = `${collection}/{:name}`;
  const body = JSON.stringify({ metadata: { name: 'new' } });
  const merge = { 'content-type': 'application/merge-patch+json' };
  const start = ['  authentication', '  authorization'];
  const barrier = ['  read barrier', '    etcd head'];
  const admitted = ['  mutating admission', '  validating admission'];

  test.each<[string, RequestOptions, string, readonly string[]]>([
    [
      'of a create in a new namespace',
      { method: 'POST', path: '/api/v1/namespaces/new/serviceaccounts', body },
      `POST ${collection}`,
      // Below the admission of the object is that of its namespace.
      [
        '  read body',
        ...admitted,
        '    mutating admission',
        '    validating admission',
        '    etcd create',
        '  etcd create',
      ],
    ],
    ['of a get', { path: `${accounts}/read` }, `GET ${object}`, barrier],
    ['of a get from memory', { path: `${accounts}/read?resourceVersion=0` }, `GET ${object}`, []],
    ['of a list', { path: accounts }, `GET ${collection}`, [...barrier, '  encode list']],
    [
      'of a patch',
      { method: 'PATCH', path: `${accounts}/patched`, headers: merge, body: '{"metadata":{"labels":{"a":"b"}}}' },
      `PATCH ${object}`,
      ['  read body', ...admitted, '  etcd update'],
    ],
    [
      'of a delete',
      { method: 'DELETE', path: `${accounts}/deleted` },
      `DELETE ${object}`,
      ['  read body', ...admitted, '  etcd delete'],
    ],
    ['of a document', { path: '/version' }, 'GET', []],
  ])('those %s', async (_, request, name, stages) => {
    // A watch that delivers the new namespace a little later than its create lets the server ask etcd.
    const seen = names(await traced(request)).filter((one) => one !== '    etcd head' || stages.includes(one));
    expect(seen).toEqual([name, ...start, ...stages]);
  });

  test('those of a watch, up to its initial events', async () => {
    const response = await server.open('GET', `${accounts}?watch=1`);
    const span = await until('the trace of the watch', () =>
      receiver.spans.find(({ attributes }) => attributes['apiserver.verb'] === 'watch'),
    );
    expect(response.readableEnded).toBe(false);
    const spans = receiver.spans.filter(({ traceId }) => traceId === span.traceId);
    expect(names(spans)).toEqual([`GET ${collection}`, ...start, ...barrier, '  initial events']);
    expect(span.attributes['http.response.status_code']).toBe(200);
    response.destroy();
  });

  test('within the duration of the request', async () => {
    const [request, ...stages] = (await traced({ path: accounts })) as [ReceivedSpan, ...ReceivedSpan[]];
    for (const stage of stages) {
      expect(stage.startNanos).toBeGreaterThanOrEqual(request.startNanos);
      expect(stage.endNanos).toBeGreaterThanOrEqual(stage.startNanos);
      expect(stage.endNanos).toBeLessThanOrEqual(request.endNanos);
    }
  });
});

describe('The span of a request has', () => {
  test("the request's attributes by the semantic conventions of OpenTelemetry", async () => {
    const headers = { 'user-agent': 'curl/8.0' };
    const spans = await traced({ path: `${accounts}?limit=5&resourceVersion=0&labelSelector=${canary}`, headers });
    const { kind, attributes, resource, isFailed } = requestIn(spans);
    expect([kind, isFailed]).toEqual(['server', false]);
    expect(attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'http.response.body.size': expect.any(Number),
      'http.route': '/api/v1/namespaces/{:namespace}/serviceaccounts',
      'url.scheme': 'https',
      'url.path': accounts,
      'url.query': 'limit=5&resourceVersion=0',
      'network.protocol.version': '1.1',
      'client.address': '127.0.0.1',
      'user_agent.original': 'curl/8.0',
      'audit-id': expect.stringMatching(/^trace-\d+$/),
      'apiserver.verb': 'list',
      'apiserver.group': '',
      'apiserver.version': 'v1',
      'apiserver.resource': 'serviceaccounts',
      'k8s.namespace.name': 'team',
    });
    expect(resource).toEqual({
      'service.name': 'apiserver',
      'service.version': expect.any(String),
      'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
  });

  test('the address of the etcd member', async () => {
    const head = (await traced({ path: `${accounts}/none` })).find(({ name }) => name === 'etcd head');
    const { hostname, port } = new URL(etcd.endpoints[0] as string); // every etcd has a member
    expect(head?.kind).toBe('client');
    expect(head?.attributes).toEqual({
      'db.system.name': 'etcd',
      'db.operation.name': 'head',
      'server.address': hostname,
      'server.port': Number(port),
      'etcd.attempts': 1,
    });
  });

  test.each<[string, RequestOptions & { token?: string | undefined }, number, string]>([
    ['an anonymous user', { path: accounts, token: undefined }, 401, 'authentication'],
    ['an invalid token', { path: accounts, token: 'unknown' }, 401, 'authentication'],
    ['a user without permission', { path: accounts, headers: { 'impersonate-user': 'eve' } }, 403, 'impersonation'],
    ['an invalid path', { path: '/api/%zz' }, 400, ''],
    ['a missing object', { path: `${accounts}/none` }, 404, 'authorization'],
  ])('the status of a rejected request: %s', async (_, request, code, stage) => {
    const spans = await traced(request);
    expect(requestIn(spans).attributes['http.response.status_code']).toBe(code);
    expect(names(spans)).toContain(stage === '' ? 'GET' : `  ${stage}`);
  });

  test('neither secrets nor long values', async () => {
    const path = `/api/v1/namespaces/team/serviceaccounts/x?fieldManager=${canary}&timeout=${canary}&watch=${canary}`;
    const headers = { cookie: canary, 'x-secret': canary, 'user-agent': 'a'.repeat(3_000) };
    const body = JSON.stringify({ metadata: { name: 'x', annotations: { canary } } });
    const spans = [
      ...(await traced({ method: 'PUT', path, headers, body })),
      ...(await traced({ path, headers, token: canary })),
    ];
    const text = JSON.stringify(spans, (_, value) => (typeof value === 'bigint' ? String(value) : value));
    expect(text).not.toContain(canary);
    expect(text).not.toContain(server.token);
    expect(text).not.toContain('a'.repeat(513));
  });
});

describe('A client that sends a trace context', () => {
  const context = (flags: string) => ({
    traceparent: `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-${flags}`,
    tracestate: 'vendor=1',
  });
  const caller = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331' };
  let others: TestServer; // does not sample by itself
  beforeAll(async () => {
    others = await serveTraced({ endpoint: receiver.address }, { etcd });
  });
  afterAll(() => others.close());

  const sendWithContext = async (to: TestServer, token: string | undefined, flags: string): Promise<string> => {
    const auditId = newAuditId();
    await sendRequest(to, token, { path: '/readyz', headers: { 'audit-id': auditId, ...context(flags) } });
    return auditId;
  };

  test('has the request sampled as part of its trace if it is an administrator', async () => {
    const spans = await spansOf(receiver, await sendWithContext(others, others.token, '01'));
    const { traceId, parentSpanId, traceState, links } = requestIn(spans);
    expect([traceId, parentSpanId, traceState, links]).toEqual([caller.traceId, caller.spanId, 'vendor=1', []]);
    expect(names(spans).slice(1)).toEqual(['  authentication', '  authorization']);
  });

  test('has it sampled in a separate trace with a link otherwise', async () => {
    const { traceId, parentSpanId, links } = requestIn(
      await spansOf(receiver, await sendWithContext(server, undefined, '01')),
    );
    expect(traceId).not.toBe(caller.traceId);
    expect([parentSpanId, links]).toEqual(['', [caller]]);
  });

  test.each<[string, () => TestServer, boolean, string]>([
    ['cannot force sampling otherwise', () => others, false, '01'],
    ['can prevent sampling if it is an administrator', () => server, true, '00'],
  ])('%s', async (_, to, isMaster, flags) => {
    const unsampled = await sendWithContext(to(), isMaster ? to().token : undefined, flags);
    // The trace of a later request has arrived, so this one would have, too.
    await spansOf(receiver, await sendWithContext(to(), to().token, '01'));
    expect(requestSpan(receiver, unsampled)).toBeUndefined();
  });
});
