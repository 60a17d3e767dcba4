/** Corrupt values in etcd: only pages that contain them fail, and neither logs nor responses quote them. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { putRaw } from '@cluster-apiserver/testkit/etcd-gateway';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type TestServer, serveKinds } from './serve-kinds.ts';

let server: TestServer;
beforeAll(async () => {
  server = await serveKinds(kinds, { errorsExpected: true });
});
afterAll(() => server.close());

const all = '/api/v1/serviceaccounts';
const put = ({ etcd }: TestServer, key: string, value: string | Buffer): Promise<void> =>
  putRaw(etcd.endpoints[0] as string, `/registry/serviceaccounts/${key}`, Buffer.from(value));

test('a page is served unless it contains an unreadable object', async () => {
  // Without unreadable objects of other tests.
  const server = await serveKinds(kinds, { errorsExpected: true });
  for (const namespace of ['a', 'b', 'c', 'd', 'e'])
    await server.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'x' } });
  const namesIn = ({ body }: JsonResponse): (string | undefined)[] | undefined =>
    body.items?.map(({ metadata }) => metadata.namespace);
  const listPage = (limit: number, from?: string): Promise<JsonResponse> =>
    server.request('GET', `${all}?limit=${limit}${from ? `&continue=${from}` : ''}`);
  const [first, second] = [await listPage(1), await listPage(2)];
  const behind = await listPage(3);
  await put(server, 'c/x', 'noise');
  await until('the unreadable object', async () =>
    (await server.request('GET', all)).status === 500 ? true : undefined,
  );
  expect(await server.metricsPage()).toContain(
    'apiserver_watch_cache_unreadable_objects{group="",resource="serviceaccounts"} 1\n',
  );
  expect(namesIn(await listPage(1))).toEqual(['a']);
  expect(namesIn(await listPage(2))).toEqual(['a', 'b']);
  expect((await listPage(3)).status).toBe(500);
  // The first page's snapshot is older than the change.
  const continueOf = ({ body }: JsonResponse): string | undefined => body.metadata['continue' as never];
  expect(namesIn(await listPage(1, continueOf(first)))).toEqual(['b']);
  expect(namesIn(await listPage(1, continueOf(second)))).toEqual(['c']);
  expect(namesIn(await listPage(2, continueOf(behind)))).toEqual(['d', 'e']);
  const now = await listPage(2);
  expect(await listPage(1, continueOf(now))).toMatchObject({ status: 500, body: { reason: 'StorageReadError' } });
  await server.close();
});

const secret = 'do-not-quote-me';
test.each<[string, string | Buffer]>([
  ['not JSON', secret],
  ['truncated JSON', `{"metadata":{"name":"x","annotations":{"a":"${secret}`],
  ['JSON with a bad escape', `{"metadata":{"name":"x","annotations":{"a":"\\q${secret}"}}}`],
  ['JSON of another object', `{"metadata":{"name":"${secret}","namespace":"${secret}"}}`],
  ['JSON of the wrong type', `{"metadata":{"name":"x","labels":"${secret}"}}`],
  ['a list', `["${secret}"]`],
  ['truncated protobuf', Buffer.concat([Buffer.from('k8s\0\n\x7f'), Buffer.from(secret)])],
  ['an unknown provider prefix', `k8s:enc:${secret}:v1:${secret}`],
  ['a forged log line', `x\nE0101 00:00:00.000000       1 server] "${secret}"`],
])('%s is rejected, and neither the log nor a response quotes it', async (_, value) => {
  const before = server.logLines.length;
  await put(server, 'quoted/x', value);
  const path = '/api/v1/namespaces/quoted/serviceaccounts';
  await until('the unreadable object', async () =>
    (await server.request('GET', path)).status === 500 ? true : undefined,
  );
  const answers = [
    await server.request('GET', `${path}/x`),
    await server.request('GET', path),
    await server.request('PATCH', `${path}/x`, {}, 'application/merge-patch+json'),
    await server.request('DELETE', `${path}/x`),
  ];
  for (const { status, body } of answers) {
    expect(status).toBe(500);
    expect(JSON.stringify(body)).not.toContain(secret);
  }
  expect(server.logLines.length).toBeGreaterThan(before);
  expect(server.logLines.slice(before).find((line) => line.includes(secret))).toBeUndefined();
});
