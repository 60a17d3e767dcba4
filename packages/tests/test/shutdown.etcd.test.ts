import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from './serve-kinds.ts';

const cleanup = new CleanupStack();
const slowTestMs = 60_000;
let etcd: RealEtcd;

beforeAll(async () => {
  etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
}, slowTestMs);
afterAll(() => cleanup.close(), slowTestMs);

async function serve(): Promise<TestServer> {
  const server = await serveKinds(kinds, { etcd });
  cleanup.defer('server', () => server.close());
  return server;
}

async function isLeading(server: TestServer): Promise<true | undefined> {
  let text = '';
  for await (const piece of await server.open('GET', '/metrics')) text += String(piece);
  return text.includes('leader_election_master_status{name="controllers"} 1') || undefined;
}

test(
  'a replica that shuts down leaves the leadership to another while it still answers requests',
  async () => {
    const stopping = await serve();
    await until('the leader', () => isLeading(stopping));
    const other = await serve();
    expect(await isLeading(other)).toBeUndefined();
    stopping.beginShutdown();
    await until('the next leader', () => isLeading(other));
    expect(await isLeading(stopping)).toBeUndefined();
    expect((await stopping.request('GET', '/api/v1/namespaces/default/serviceaccounts')).status).toBe(200);
  },
  slowTestMs,
);
