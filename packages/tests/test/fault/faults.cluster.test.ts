/**
 * One load runs through a series of faults: no request may hang, and at the end the whole history is checked against
 * etcd's own log.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack, requireValue, seededRandom, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealPlugin, startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { etcdctl, type RealEtcd, type RealMember, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { createEncryptionConfiguration } from '@cluster-apiserver/testkit/encryption-configuration';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { type Operation, describeOperation, isAmbiguous } from './history.ts';
import { checkHistory } from './check-history.ts';
import { withoutTwins } from './twins.ts';
import { readLog } from './etcd-log.ts';
import { defineToolboxes, serviceAccounts, toolboxes } from './judged-resources.ts';
import { type MixedLoad, mixedLoad } from './mixed-load.ts';
import { waitForReplicaRestart } from './replica-restart.ts';
import { type LeaderlessTime, watchLeader } from './leader-watch.ts';
import { answerMs, electionTimeoutMs, requireResponses, tookMs } from './response-times.ts';
import { slowDisk } from './slow-disk.ts';

const slowTestMs = 120_000;
/** Longer than a request may take, so that some start, wait and end during a fault. */
const faultMs = 4_000;
const responsesBetween = 100;
/** A write waits for two fsyncs of the leader, and is a second call if its object was not in the cache or has changed. */
const fsyncsOfSecondCall = 2;
const recoveryMs = 30_000;

const cleanup = new CleanupStack();
let etcd: RealEtcd;
let cluster: Cluster;
let plugin: RealPlugin;
let load: MixedLoad;
/** Clients of the same replicas for requests outside the load. */
let separateClients: readonly Client[];

beforeAll(async () => {
  etcd = await startEtcd({ members: 3 });
  cleanup.defer('etcd', () => etcd.stop());
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'faults-'));
  cleanup.defer('directory', () => fs.rmSync(directory, { recursive: true, force: true }));
  const socket = path.join(directory, 'kms.sock');
  plugin = await startPlugin(socket);
  cleanup.defer('plugin', () => plugin.stop());
  cluster = await startCluster({
    replicas: 2,
    etcdMembers: etcd.endpoints,
    replicaFlags: ['--etcd-compaction-interval=0'],
    encryption: encryptEventsWith(socket),
  });
  cleanup.defer('cluster', () => cluster.stop());
  const { front, replicas } = cluster.pids();
  const client = (url: string): Client => {
    const made = http1Client(url, cluster);
    cleanup.defer('client', () => made.close());
    return made;
  };
  const urls = replicas.map(({ url }) => url);
  separateClients = urls.map(client);
  const alternatingClient = (): Client => roundRobin(urls.map(client));
  await defineToolboxes(requireValue(separateClients[0]));
  load = mixedLoad([client(front.url), client(front.url), alternatingClient(), alternatingClient()], seededRandom(7), {
    thinkMs: 10,
    resources: [serviceAccounts, toolboxes],
  });
  cleanup.defer('load', () => load.stop());
}, slowTestMs);
// After all faults, in whatever order they came. A violation fails every test.
afterAll(async () => {
  try {
    await load.stop();
    const log = await readLog(etcd.endpoints[0] as string, cluster);
    console.log(`${load.history.length} requests, ${log.length} writes`);
    expect(checkHistory(withoutTwins(load.history), log)).toEqual([]);
  } finally {
    await cleanup.close((what, error) => console.error(what, error));
  }
}, slowTestMs);

const encryptEventsWith = (socket: string): string =>
  createEncryptionConfiguration([
    {
      resources: ['events'],
      providers: [{ kms: { apiVersion: 'v1', name: 'vault', endpoint: `unix://${socket}`, timeout: '1s' } }],
    },
  ]);

/** A client that sends each request to the next replica. */
function roundRobin(clients: readonly Client[]): Client {
  let turn = 0;
  return {
    request: (...request) => (clients[turn++ % clients.length] as Client).request(...request), // not empty
    close: () => {},
  };
}

async function waitForResponses(count: number): Promise<void> {
  const enough = load.history.length + count;
  await until(`${count} more responses`, () => load.history.length >= enough || undefined, recoveryMs);
}

interface FaultResult {
  /** The requests that the fault may have affected, including those that end after it. */
  readonly affected: readonly Operation[];
  readonly leaderless: readonly LeaderlessTime[];
}

async function runFault(fault: () => Promise<void>): Promise<FaultResult> {
  await waitForResponses(responsesBetween);
  const from = load.history.length;
  const leader = watchLeader(etcd.endpoints);
  let leaderless: readonly LeaderlessTime[];
  try {
    await fault();
    await waitForResponses(responsesBetween);
  } finally {
    leaderless = await leader.stop();
  }
  const affected = load.history.slice(from);
  const slowestMs = Math.max(...affected.map(tookMs));
  console.log(
    `${affected.length} requests, ${affected.filter(isRejected).length} rejected, the slowest took ${slowestMs.toFixed(0)} ms, no leader was seen for ${leaderless.map(({ fromMs, toMs }) => (toMs - fromMs).toFixed(0)).join(' and ') || '0'} ms`,
  );
  return { affected, leaderless };
}

const isRejected = ({ outcome }: Operation): boolean => outcome.result === 'unavailable' || isAmbiguous(outcome);
const describeRejected = (operations: readonly Operation[]): string[] =>
  operations.filter(isRejected).map(describeOperation);

test.each([{ delayMs: 200 }, { delayMs: 600 }])(
  'each fsync of the leader takes $delayMs ms longer: requests are slow, but none hangs',
  async ({ delayMs }) => {
    const { affected, leaderless } = await runFault(async () => {
      const disk = await slowDisk((await etcd.leader()).pid ?? 0, delayMs);
      await sleep(clock, faultMs);
      await disk.stop();
    });
    requireResponses(affected, { leaderless, slowCallsMs: fsyncsOfSecondCall * delayMs });
  },
  slowTestMs,
);

test(
  'each member is suspended in turn, with its watches: reads and writes continue at the others',
  async () => {
    for (const member of etcd.members) {
      const { affected, leaderless } = await runFault(async () => {
        await member.signal('SIGSTOP');
        await sleep(clock, faultMs);
        await member.signal('SIGCONT');
      });
      requireResponses(affected, { leaderless });
    }
  },
  slowTestMs,
);

test(
  'the KMS plugin of events hangs: requests for events end in time, and other kinds are not delayed',
  async () => {
    const event = (name: string): object => ({
      kind: 'Event',
      apiVersion: 'v1',
      metadata: { name },
      involvedObject: { kind: 'ServiceAccount', namespace: 'default', name: 'x' },
    });
    const events = '/api/v1/namespaces/default/events';
    const [one, other] = separateClients as readonly [Client, Client];
    expect((await one.request('POST', events, { body: event('before') })).status).toBe(201);
    let resumePlugin = (): void => {};
    const statuses: { readonly what: string; readonly status: number; readonly isInTime: boolean }[] = [];
    const request = async (what: string, requests: ReturnType<Client['request']>): Promise<void> => {
      const beganMs = clock.monotonicMs();
      const { status } = await requests;
      statuses.push({ what, status, isInTime: clock.monotonicMs() - beganMs < answerMs });
    };
    const { affected, leaderless } = await runFault(async () => {
      plugin.ready = new Promise((resolve) => (resumePlugin = resolve));
      try {
        await Promise.all([
          request('a create', one.request('POST', events, { body: event('during') })),
          request('a get', other.request('GET', `${events}/before`)),
          request('a list', other.request('GET', events)),
          sleep(clock, faultMs),
        ]);
      } finally {
        resumePlugin();
      }
    });
    expect(statuses.filter(({ what }) => what !== 'a create')).toEqual([
      { what: 'a get', status: 200, isInTime: true },
      { what: 'a list', status: 200, isInTime: true },
    ]);
    expect(statuses).toContainEqual({ what: 'a create', status: 503, isInTime: true });
    expect(describeRejected(affected)).toEqual([]);
    requireResponses(affected, { leaderless });
    await until('events again', async () => {
      const { status } = await one.request('POST', events, { body: event('after') });
      return status === 201 || undefined;
    });
  },
  slowTestMs,
);

(etcdctl ? test : test.skip).each(['leader', 'follower'])(
  'a member, the %s, is lost and replaced by an empty one: no request fails, and the history stays the same',
  async (role) => {
    const [first, , lost] = etcd.members as readonly [RealMember, RealMember, RealMember];
    await etcd.moveLeader(role === 'leader' ? lost : first);
    const { affected, leaderless } = await runFault(() => etcd.replace(lost));
    requireResponses(affected, { leaderless });
    await until('the new member to serve', async () => (await lost.serves()) || undefined, recoveryMs);
    for (const client of separateClients) {
      const { body } = await client.request('GET', '/metrics');
      expect(body).not.toMatch(/^etcd_history_replaced_total\{/m);
    }
  },
  slowTestMs,
);

test(
  'one replica was suspended and another just started: a client that switches between them never goes back in time',
  async () => {
    const [still, young] = cluster.pids().replicas;
    const { affected, leaderless } = await runFault(async () => {
      const pid = young?.pid ?? 0;
      process.kill(pid, 'SIGKILL');
      for (let times = 0; times < 4; times++) {
        process.kill(still?.pid ?? 0, 'SIGSTOP');
        await sleep(clock, electionTimeoutMs).finally(() => process.kill(still?.pid ?? 0, 'SIGCONT'));
        await waitForResponses(20);
      }
      await waitForReplicaRestart(cluster, 1, pid);
    });
    // Only requests in flight at the killed replica, and requests sent to it before its restart, have no response.
    const inTime = affected.filter(({ outcome }) => outcome.result !== 'no response');
    requireResponses(inTime, { leaderless });
  },
  slowTestMs,
);
