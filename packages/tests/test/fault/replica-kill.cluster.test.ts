import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requireValue, seededRandom, systemClock as clock } from '@cluster-apiserver/base';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { type Operation, describeOperation } from './history.ts';
import { checkHistory } from './check-history.ts';
import { withoutTwins } from './twins.ts';
import { readLog } from './etcd-log.ts';
import { defineToolboxes, serviceAccounts, toolboxes } from './judged-resources.ts';
import { mixedLoad } from './mixed-load.ts';
import { requireResponses } from './response-times.ts';
import { waitForReplicaRestart } from './replica-restart.ts';

const slowTestMs = 120_000;
const kills = repetitions({ ci: 2, soak: 8 });
/** Clients of the front, and as many of each replica, so that it is known which ones a kill affects. */
const clientsEach = 4;
/** With those that follow while they have hurt no client of the front. */
const killsMax = kills + 8;
const responsesBetween = 300;
/** Much longer than the end of a process and its restart. */
const recoveryMs = 30_000;

let cluster: Cluster;
let clients: Client[];

beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, etcdMembers: 1, replicaFlags: ['--etcd-compaction-interval=0'] });
  const { front, replicas } = cluster.pids();
  const urls = [front, ...replicas].flatMap(({ url }) => new Array<string>(clientsEach).fill(url));
  clients = urls.map((url) => http1Client(url, cluster));
}, slowTestMs);

afterAll(async () => {
  for (const client of clients) client.close();
  await cluster.stop();
}, slowTestMs);

interface Kill {
  readonly replica: number;
  readonly atMs: number;
  /** Time at which the process was gone; its port accepts connections until then. */
  readonly goneMs: number;
  readonly readyAgainMs: number;
}

test(
  'a replica is killed under load: only its requests in flight fail, and acknowledged writes exist exactly once',
  async () => {
    await defineToolboxes(requireValue(clients[0]));
    const load = mixedLoad(clients, seededRandom(2), { resources: [serviceAccounts, toolboxes] });
    const waitForResponses = (count: number): Promise<true> => {
      const enough = load.history.length + count;
      return until(`${count} more responses`, () => load.history.length >= enough || undefined, recoveryMs);
    };
    const done: Kill[] = [];
    try {
      for (let kill = 0; kill < kills || (kill < killsMax && !hurtEachGroup(load.history)); kill += 1) {
        await waitForResponses(responsesBetween);
        const replica = kill % 2;
        const { pid } = cluster.pids().replicas[replica] ?? { pid: 0 };
        const atMs = clock.monotonicMs();
        process.kill(pid, 'SIGKILL');
        await until('the process to end', () => isGone(pid) || undefined, recoveryMs);
        const goneMs = clock.monotonicMs();
        await waitForReplicaRestart(cluster, replica, pid);
        done.push({ replica, atMs, goneMs, readyAgainMs: clock.monotonicMs() });
        await waitForResponses(responsesBetween);
      }
    } finally {
      await load.stop();
    }

    const failed = load.history.filter(hasFailed);
    expect(
      failed.filter((operation) => !done.some((kill) => isHurtBy(operation, kill))).map(describeOperation),
    ).toEqual([]);
    expect(hurtEachGroup(load.history)).toBe(true);
    const log = await readLog(cluster.pids().etcd[0]?.url ?? '', cluster);
    expect(checkHistory(withoutTwins(load.history), log)).toEqual([]);
    requireResponses(load.history.filter((operation) => !hasFailed(operation)));
    const lost = failed.filter(({ client }) => clientGroupOf(client) === 0).length;
    console.log(`${load.history.length} requests, ${log.length} writes; ${lost} at the front without a response`);
  },
  slowTestMs,
);

/**
 * A client of the front loses requests on connections from before the kill; a client of the replica loses all requests
 * until its restart.
 */
function isHurtBy(
  { client, outcome, invokedMs, returnedMs }: Operation,
  { replica, atMs, goneMs, readyAgainMs }: Kill,
): boolean {
  if (outcome.result !== 'no response' || returnedMs < atMs || invokedMs > readyAgainMs) return false;
  const lane = clientGroupOf(client);
  if (lane > 0) return lane === replica + 1;
  return outcome.connectedMs !== undefined && outcome.connectedMs < goneMs;
}

/** 0 for a client of the front, otherwise the number of the replica plus one. */
const clientGroupOf = (client: string): number => Math.floor(Number(client.replace('client-', '')) / clientsEach);

const hasFailed = ({ outcome }: Operation): boolean => outcome.result === 'no response';

/** A kill may come while no client of the front waits for a response. */
const hurtEachGroup = (history: readonly Operation[]): boolean =>
  new Set(history.filter(hasFailed).map(({ client }) => clientGroupOf(client))).size === 3;

function isGone(pid: number): boolean {
  try {
    return !process.kill(pid, 0);
  } catch {
    return true; // fails only if the process does not exist
  }
}
