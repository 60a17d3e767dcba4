import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requireValue, seededRandom } from '@cluster-apiserver/base';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { memberAt } from '@cluster-apiserver/testkit/etcd-gateway';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { type Operation, describeOperation, isAmbiguous } from './history.ts';
import { checkHistory } from './check-history.ts';
import { withoutTwins } from './twins.ts';
import { readLog } from './etcd-log.ts';
import { defineToolboxes, serviceAccounts, toolboxes } from './judged-resources.ts';
import { aboveAllPatches, mixedLoad } from './mixed-load.ts';
import { type LeaderlessTime, watchLeader } from './leader-watch.ts';
import { requireResponses, tookMs } from './response-times.ts';

/** Time to start three etcd members and two replicas, and to elect up to five leaders. */
const slowTestMs = 180_000;

const kills = repetitions({ ci: 2, soak: 5 });
const clientsMax = 8;

/** Responses required before and after each kill. */
const responsesBetween = 400;

/** Outcomes that each occur at least `seenMin` times before the load stops, so that the test is meaningful for patches. */
const patchesSeen = [
  ...['merge', 'strategic', 'count', 'apply'].flatMap((verb) => [`${verb} written`, `${verb} conflict`]),
  'apply owned',
  'count failed',
];
const seenMin = 10;

/** Much longer than an election and the start of a member. */
const recoveryMs = 30_000;

let cluster: Cluster;
let clients: Client[];

beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, etcdMembers: 3, replicaFlags: ['--etcd-compaction-interval=0'] });
  clients = Array.from({ length: clientsMax }, () => http1Client(cluster.pids().front.url, cluster));
}, slowTestMs);

afterAll(async () => {
  for (const client of clients) client.close();
  await cluster.stop();
}, slowTestMs);

test(
  `the etcd leader is killed ${kills} times under patches and other load: no request fails, and no write is lost or repeated`,
  async () => {
    await defineToolboxes(requireValue(clients[0]));
    const load = mixedLoad(clients, seededRandom(1), {
      shares: aboveAllPatches,
      resources: [serviceAccounts, toolboxes],
    });
    const waitForResponses = (count: number): Promise<true> => {
      const enough = load.history.length + count;
      return until(`${count} more responses`, () => load.history.length >= enough || undefined, recoveryMs);
    };
    const killed: string[] = [];
    const leader = watchLeader(cluster.pids().etcd.map(({ url }) => url));
    let leaderless: readonly LeaderlessTime[];
    try {
      while (killed.length < kills) {
        await waitForResponses(responsesBetween);
        const before = await agreedLeader();
        process.kill(before.pid, 'SIGKILL');
        await waitForResponses(responsesBetween);
        const after = await agreedLeader();
        // The launcher may restart the member before the others notice its absence, and it leads again.
        if (after.id !== before.id) killed.push(before.id);
      }
      await until(
        'enough of each patch outcome',
        () => rareOutcomes(load.history).length === 0 || undefined,
        recoveryMs,
      );
    } finally {
      await load.stop();
      leaderless = await leader.stop();
    }

    const { history } = load;
    const failed = ({ outcome }: Operation): boolean => isAmbiguous(outcome) || outcome.result === 'unavailable';
    expect(history.filter(failed).map(describeOperation)).toEqual([]);
    const log = await readLog(cluster.pids().etcd[0]?.url ?? '', cluster);
    expect(checkHistory(withoutTwins(history), log)).toEqual([]);
    requireResponses(history, { leaderless });
    const slowestMs = Math.max(...history.map(tookMs));
    console.log(`${history.length} requests, ${log.length} writes, the slowest took ${slowestMs.toFixed(0)} ms`);
  },
  slowTestMs,
);

/** Patch outcomes that have not occurred often enough yet. */
function rareOutcomes(history: readonly Operation[]): readonly string[] {
  const done = Map.groupBy(history, ({ action, outcome }) => `${action.verb} ${outcome.result}`);
  return patchesSeen.filter((what) => (done.get(what)?.length ?? 0) < seenMin);
}

const members = async () =>
  (await Promise.all(cluster.pids().etcd.map(({ url }) => memberAt(url)))).filter((member) => member !== undefined);

/** The member that all three follow: only then is the cluster ready for the next kill. */
const agreedLeader = () =>
  until(
    'three members with one leader',
    async () => {
      const all = await members();
      const leader = all.find(({ id, leader }) => id === leader);
      if (!leader || all.length < 3 || all.some((member) => member.leader !== leader.id)) return undefined;
      const pid = cluster.pids().etcd.find(({ url }) => url === leader.url)?.pid ?? 0;
      return { ...leader, pid };
    },
    recoveryMs,
  );
