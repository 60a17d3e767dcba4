import tls from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { drainMs } from '@cluster-apiserver/server';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
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

const isLeading = async (server: TestServer): Promise<true | undefined> =>
  (await server.metricsPage()).includes('leader_election_master_status{name="controllers"} 1') || undefined;

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

const path = '/api/v1/namespaces/default/serviceaccounts';
/** Often enough that some of the new connections are always open. */
const connectPauseMs = 50;

test(
  'a replica that shuts down waits for its present connections only, although clients keep connecting',
  async () => {
    const server = await serve();
    const open = (): Client => {
      const client = http1Client(server.url, { ca: server.certificate, token: server.token });
      cleanup.defer('client', () => client.close());
      return client;
    };
    // The drain waits until this connection is closed for being idle.
    expect((await open().request('GET', path)).status).toBe(200);
    server.beginShutdown();
    let isClosed: true | undefined;
    const closed = server.close().then(() => (isClosed = true));
    const connectUntilRefused = async (): Promise<number> => {
      for (let connected = 0; ; connected++) {
        const idle = tls.connect({ port: Number(new URL(server.url).port), ca: server.certificate });
        idle.on('error', () => {}); // the server has closed
        cleanup.defer('connection', () => void idle.destroy());
        const answer = await open()
          .request('GET', path)
          .catch(() => undefined);
        if (answer?.status !== 200) return connected;
        await sleep(clock, connectPauseMs);
      }
    };
    const connecting = connectUntilRefused();
    await until('the end', () => isClosed, drainMs * 0.9);
    await closed;
    expect(await connecting).toBeGreaterThan(1);
  },
  slowTestMs,
);
