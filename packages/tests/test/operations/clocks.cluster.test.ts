import { afterAll, beforeAll, expect, test } from '@jest/globals';
import path from 'node:path';
import { CleanupStack, systemClock as clock } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { loadReplicas } from './replica-load.ts';
import { type Replica, type Replicas, startReplicas } from './replicas.ts';

const slowTestMs = 240_000;
/** One of the leaders stops in each. */
const rounds = repetitions({ ci: 1, soak: 12 });
const responsesBetween = 200;
const recoveryMs = 60_000;
const hourMs = 3_600_000;
const allShifts = [0, -24 * hourMs, 10 * 24 * hourMs, hourMs];
const shifts = allShifts.slice(0, repetitions({ ci: 3, soak: allShifts.length }));
/** Of a clock that was read through requests. */
const toleranceMs = 60_000;

const accounts = '/api/v1/namespaces/clocks/serviceaccounts';
const cleanup = new CleanupStack();
let etcd: RealEtcd;
let replicas: Replicas;

beforeAll(async () => {
  etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  const preload = path.join(import.meta.dirname, 'shift-clock.ts');
  replicas = await startReplicas({
    etcdEndpoints: etcd.endpoints,
    replicas: shifts.map((shiftMs) => ({
      nodeOptions: ['--disable-warning=ExperimentalWarning', `--import=${preload}`],
      env: { CLOCK_SHIFT_MS: `${shiftMs}` },
    })),
  });
  cleanup.defer('replicas', () => replicas.stop());
}, slowTestMs);
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

const clientOf = (replica: Replica): Client => {
  const client = replica.client();
  cleanup.defer('client', () => client.close());
  return client;
};

async function findLeader(): Promise<Replica | undefined> {
  for (const replica of replicas.all) if ((await replica.metric('leader_election_master_status')) === 1) return replica;
  return undefined;
}

test(
  'replicas whose clocks are an hour, a day and ten days off lose no write and no event, lead in turn, and judge only tokens by their time',
  async () => {
    const load = await loadReplicas(replicas, { etcdEndpoints: etcd.endpoints }, cleanup);
    const front = http1Client(replicas.front, replicas);
    cleanup.defer('client', () => front.close());
    for (let round = 0; round < rounds; round++) {
      await load.waitForResponses(responsesBetween);
      const namespace = `deleted-${round}`;
      expect(
        (await front.request('POST', `/api/v1/namespaces/${namespace}/events`, { body: eventIn(namespace) })).status,
      ).toBe(201);
      const stopped = await until('a leader', () => findLeader());
      await stopped.end('SIGTERM');
      await front.request('DELETE', `/api/v1/namespaces/${namespace}`);
      await until(
        'the end of the namespace',
        async () => (await front.request('GET', `/api/v1/namespaces/${namespace}`)).status === 404 || undefined,
        recoveryMs,
      );
      await stopped.start();
    }
    const { violations, late } = await load.judge();
    expect(violations).toEqual([]);
    expect(late).toEqual([]);
    await checkTimes();
  },
  slowTestMs,
);

const eventIn = (namespace: string): object => ({
  metadata: { name: 'inside' },
  involvedObject: { kind: 'ServiceAccount', namespace, name: 'x' },
});

async function checkTimes(): Promise<void> {
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 7_200 } };
  for (const [at, replica] of replicas.all.entries()) {
    const client = clientOf(replica);
    const made = await client.request('POST', accounts, { body: { metadata: { name: `a${at}` } } });
    const { creationTimestamp } = JSON.parse(made.body).metadata as { creationTimestamp: string };
    const offMs = Date.parse(creationTimestamp) - clock.now() - (shifts[at] ?? 0);
    expect(Math.abs(offMs)).toBeLessThan(toleranceMs);
    const issued = await client.request('POST', `${accounts}/a${at}/token`, { body: request });
    const { token } = JSON.parse(issued.body).status as { token: string };
    // Two hours are over where the clock is ahead by more, and have not begun where it is behind.
    for (const [other, { url }] of replicas.all.entries()) {
      const aheadMs = (shifts[other] ?? 0) - (shifts[at] ?? 0);
      const holder = http1Client(url, { ca: replicas.ca, token });
      cleanup.defer('client', () => holder.close());
      const { status } = await holder.request('GET', '/api');
      expect([at, other, status]).toEqual([at, other, aheadMs >= 0 && aheadMs < 2 * hourMs ? 200 : 401]);
    }
  }
}
