import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { seededRandom, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { until } from '@cluster-apiserver/testkit/until';
import { memberAt } from '@cluster-apiserver/testkit/etcd-gateway';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { type Operation, describeOperation, type Outcome } from './history.ts';
import { checkHistory } from './check-history.ts';
import { withoutTwins } from './twins.ts';
import { readLog } from './etcd-log.ts';
import { mixedLoad } from './mixed-load.ts';
import { requireInTime, requireResponses, slowerThan, tookMs } from './response-times.ts';

const slowTestMs = 120_000;
/** Guaranteed response time without quorum. */
const noQuorumAnswerMs = 2_000;
/** Time to elect a leader, and for replicas to notice. */
const recoveryMs = 10_000;
/** Several times the timeout of a request, so that requests start, wait and end without quorum. */
const outageMs = 6_000;
/** A replica has noticed that this member does not respond, but not yet that its watch stands still. */
const betweenStopsMs = 600;
const livezPauseMs = 50;
const responsesBetween = 200;

let cluster: Cluster;
let clients: Client[];

beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, etcdMembers: 3, replicaFlags: ['--etcd-compaction-interval=0'] });
  clients = Array.from({ length: 8 }, () => http1Client(cluster.pids().front.url, cluster));
}, slowTestMs);

afterAll(async () => {
  for (const client of clients) client.close();
  await cluster.stop();
}, slowTestMs);

/**
 * Suspends members instead of killing them, because the launcher restarts killed ones. It is also the harder fault for
 * connections: they stay open, and buffered requests are executed when the members continue.
 */
const stopMembers = (pids: readonly number[], signal: 'SIGSTOP' | 'SIGCONT'): void =>
  pids.forEach((pid) => process.kill(pid, signal));

test(
  'without quorum every request is rejected in time, whichever members remain; with quorum all requests succeed',
  async () => {
    const load = mixedLoad(clients, seededRandom(3));
    const livez = watchLivez();
    const outages: { readonly beganMs: number; readonly endedMs: number }[] = [];
    const successes = (count: number, limitMs: number): Promise<true> => {
      const from = load.history.length;
      const enough = () => load.history.slice(from).filter(({ outcome }) => !isRejected(outcome)).length >= count;
      return until(`${count} more successes`, () => enough() || undefined, limitMs);
    };
    try {
      for (const left of ['leader', 'follower']) {
        const stopped = await allBut(left);
        await successes(responsesBetween, recoveryMs);
        if (left === 'leader') {
          // Then readers at replicas with a watch at this member already wait when the quorum is lost.
          stopMembers(stopped.slice(0, 1), 'SIGSTOP');
          await sleep(clock, betweenStopsMs);
        }
        const beganMs = clock.monotonicMs();
        stopMembers(stopped, 'SIGSTOP');
        await sleep(clock, outageMs).finally(() => stopMembers(stopped, 'SIGCONT'));
        outages.push({ beganMs, endedMs: clock.monotonicMs() });
        await successes(responsesBetween, recoveryMs);
      }
    } finally {
      await load.stop();
      await livez.stop();
    }

    const { history } = load;
    // A request that waits for the election may take longer than one without quorum.
    const waitedForElection = ({ invokedMs, returnedMs }: Operation): boolean =>
      outages.some(({ endedMs }) => invokedMs < endedMs + recoveryMs && endedMs < returnedMs);
    const sinceQuorumLost = history.map((one) => {
      const begun = outages.map(({ beganMs }) => beganMs).filter((beganMs) => beganMs < one.returnedMs);
      return { ...one, invokedMs: Math.max(one.invokedMs, ...begun) };
    });
    const slow = slowerThan(noQuorumAnswerMs, sinceQuorumLost).filter((one) => !waitedForElection(one));
    const refused = history.filter(({ outcome }) => isRejected(outcome));
    const early = refused.filter(
      ({ invokedMs, returnedMs }) =>
        !outages.some(({ beganMs, endedMs }) => beganMs < returnedMs && invokedMs < endedMs + recoveryMs),
    );
    expect(early.map(describeOperation)).toEqual([]);
    for (const { beganMs, endedMs } of outages) {
      expect(refused.filter(({ returnedMs }) => beganMs < returnedMs && returnedMs < endedMs).length).toBeGreaterThan(
        clients.length,
      );
    }
    expect(livez.failures).toEqual([]);
    const log = await readLog(cluster.pids().etcd[0]?.url ?? '', cluster);
    expect(checkHistory(withoutTwins(history), log)).toEqual([]);
    requireResponses(history);
    requireInTime(slow);
    const slowestMs = Math.max(...history.map(tookMs));
    console.log(
      `${history.length} requests, ${log.length} writes, ${refused.length} rejected, the slowest took ${slowestMs.toFixed(0)} ms`,
    );
  },
  slowTestMs,
);

const isRejected = ({ result }: Outcome): boolean => result === 'unavailable' || result === 'in doubt';

async function countWatchers(url: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  return Number(/^etcd_debugging_mvcc_watcher_total (\d+)$/m.exec(metrics)?.[1]);
}

/** The processes of all members but one, that with the most watches first, once all three follow the same leader. */
const allBut = (left: string): Promise<number[]> =>
  until(
    'three members with one leader',
    async () => {
      const { etcd } = cluster.pids();
      const members = await Promise.all(etcd.map(({ url }) => memberAt(url)));
      const leader = members.find((member) => member?.id === member?.leader);
      if (!leader || members.some((member) => member?.leader !== leader.id)) return undefined;
      const spared = left === 'leader' ? leader : members.find((member) => member !== leader);
      const stopped = await Promise.all(
        etcd
          .filter(({ url }) => url !== spared?.url)
          .map(async ({ url, pid }) => ({ pid, watchers: await countWatchers(url) })),
      );
      return stopped.toSorted((one, other) => other.watchers - one.watchers).map(({ pid }) => pid);
    },
    recoveryMs,
  );

/** Polls the liveness of both replicas. */
function watchLivez(): { readonly failures: string[]; stop(): Promise<void> } {
  const failures: string[] = [];
  const stopping = new AbortController();
  const loops = cluster.pids().replicas.map(async ({ url }) => {
    const client = http1Client(url, cluster);
    while (!stopping.signal.aborted) {
      const status = await client.request('GET', '/livez').then((answer) => `${answer.status}`, String);
      if (status !== '200') failures.push(status);
      await sleep(clock, livezPauseMs);
    }
    client.close();
  });
  return {
    failures,
    stop: async () => {
      stopping.abort();
      await Promise.all(loops);
    },
  };
}
