/**
 * An etcd without space: clients and operators are informed, requests that need no space succeed, and the server
 * recovers.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { reclaimSpace } from '@cluster-apiserver/testkit/etcd-gateway';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type TestServer, serveKinds } from './serve-kinds.ts';

const quotaBytes = 8 * 1024 * 1024;
const accounts = '/api/v1/namespaces/team/serviceaccounts';
const mergePatch = 'application/merge-patch+json';

let etcd: RealEtcd;
let server: TestServer;
beforeAll(async () => {
  etcd = await startEtcd({ flags: ['--quota-backend-bytes', String(quotaBytes)] });
  server = await serveKinds(kinds, { etcd, errorsExpected: true });
});
afterAll(async () => {
  await server.close();
  await etcd.stop();
});

const large = (name: string): object => ({ metadata: { name, annotations: { large: 'x'.repeat(200_000) } } });
const create = (name: string): Promise<JsonResponse> => server.request('POST', accounts, large(name));
const readText = async (path: string): Promise<readonly [status: number, text: string]> => {
  const response = await server.open('GET', path);
  let text = '';
  for await (const piece of response) text += piece;
  return [response.statusCode ?? 0, text];
};
const linesAbout = (message: string): number => server.logLines.filter((line) => line.includes(message)).length;

async function nextEvent(watch: IncomingMessage): Promise<{ type: string; object: { metadata: { name: string } } }> {
  let text = '';
  for await (const piece of watch) {
    text += piece;
    if (text.includes('\n')) break;
  }
  return JSON.parse(text);
}

test('a full etcd rejects writes, is reported, serves reads and deletions, and the server recovers once there is space', async () => {
  let made = 0;
  for (; made < 100; made++) if ((await create(`a${made}`)).status !== 201) break;
  expect(made).toBeGreaterThan(5);

  const refused = { status: 503, body: expect.objectContaining({ reason: 'ServiceUnavailable' }) };
  const { body } = await create('late');
  expect(body).toMatchObject({
    message: 'the storage is full: only reads and deletions work until its operator has freed space',
    details: { retryAfterSeconds: 10 },
  });
  const writes: [string, string, object, string?][] = [
    ['POST', accounts, large('late')],
    ['PUT', `${accounts}/a1`, { metadata: { name: 'a1', labels: { a: 'b' } } }],
    ['PATCH', `${accounts}/a1`, { metadata: { labels: { a: 'b' } } }, mergePatch],
    [
      'PATCH',
      `${accounts}/late?fieldManager=m`,
      { apiVersion: 'v1', kind: 'ServiceAccount', ...large('late') },
      'application/apply-patch+yaml',
    ],
  ];
  for (const write of writes) expect([write[0], await server.request(...write)]).toMatchObject([write[0], refused]);

  expect(linesAbout('"etcd is out of space')).toBe(1);
  const [status, readiness] = await readText('/readyz');
  expect(status).toBe(500);
  expect(readiness).toContain('[-]etcd failed');
  expect((await readText('/livez'))[0]).toBe(200);
  expect((await readText('/metrics'))[1]).toContain('\netcd_out_of_space{storage_cluster_id="etcd-0"} 1\n');

  expect((await server.request('GET', `${accounts}/a1`)).status).toBe(200);
  const list = await server.request('GET', `${accounts}?limit=500`);
  // Exactly the acknowledged objects.
  expect(new Set(list.body.items?.map(({ metadata }) => metadata.name))).toEqual(
    new Set(Array.from({ length: made }, (_, n) => `a${n}`)),
  );
  const { resourceVersion } = list.body.metadata;
  const watch = await server.open('GET', `${accounts}?watch=1&resourceVersion=${resourceVersion}`);
  expect((await server.request('DELETE', `${accounts}/a0`)).status).toBe(200);
  expect(await nextEvent(watch)).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'a0' } } });
  watch.destroy();
  for (let n = 1; n < made; n++) expect((await server.request('DELETE', `${accounts}/a${n}`)).status).toBe(200);
  expect((await readText('/readyz'))[0]).toBe(500);

  await reclaimSpace(etcd.endpoints[0] as string);
  // Readiness must recover without a write: a load balancer sends none to a replica that is not ready.
  await until('readiness without a write', async () => (await readText('/readyz'))[0] === 200 || undefined, 10_000);
  expect(linesAbout('"etcd accepts writes again"')).toBe(1);
  expect((await readText('/metrics'))[1]).toContain('\netcd_out_of_space{storage_cluster_id="etcd-0"} 0\n');
  expect((await create('again')).status).toBe(201);
});
