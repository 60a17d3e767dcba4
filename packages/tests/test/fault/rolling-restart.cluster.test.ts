import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { seededRandom, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { DeadlineError } from '@cluster-apiserver/testkit/repeatable-errors';
import { until } from '@cluster-apiserver/testkit/until';
import {
  type Client,
  http1Client,
  http2Client,
  requestOnce,
  type RequestOptions,
} from '@cluster-apiserver/testkit/api-client';
import { hasGo } from '../clients/client-programs.ts';
import { type FollowersReport, followWithClientGo, followWithClientNode } from '../clients/followers.ts';
import { startResumingWatches } from './resuming-watches.ts';

const slowTestMs = repetitions({ ci: 300_000, soak: 3_600_000 });
const replicas = 3;
/** Restarts, of each replica in turn. */
const restarts = repetitions({ ci: 4, soak: 50 });
const requestsPerSecond = repetitions({ ci: 200, soak: 500 });
const watches = repetitions({ ci: 100, soak: hasGo ? 100 : 1_000 });
/** Half of them are of client-go, half of @kubernetes/client-node; none where the program of client-go has not been built. */
const informers = hasGo ? repetitions({ ci: 40, soak: 1_000 }) : 0;
/** Share of the target rate to reach: a busy machine may miss a little. */
const reachedShareMin = 0.9;
/** Each watch that ends is opened once again. A few begin at a replica after its watches were counted. */
const resumedShareMax = 1.02;
/** Time for a replica to stop, its restart delay, and the start of the next process. */
const restartMs = 40_000;
/** Responses between two restarts, so that each restart affects clients of all replicas. */
const responsesBetween = 100;

const kept = 8;
const sessions = 2;
/** Percentage of requests on new connections. */
const newConnectionsPercent = 5;
const http2Percent = 25;
const paceMs = 5;

const accounts = Array.from({ length: 20 }, (_, at) => `account-${at}`);
const collection = '/api/v1/namespaces/rolling/serviceaccounts';

/** One request and its result. */
interface RequestRecord {
  readonly by: ConnectionKind;
  readonly what: string;
  readonly sentMs: number;
  readonly returnedMs: number;
  /** Undefined for a correct response. */
  readonly fault: string | undefined;
  /** What a write has written. */
  readonly written: Written | undefined;
}

interface Restart {
  readonly stoppedMs: number;
  readonly readyMs: number;
  /** Watches that the replica had, and those that were opened again. */
  readonly open: number;
  readonly resumed: number;
}

interface Written {
  readonly name: string;
  readonly revision: number;
}

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ replicas, etcdMembers: 1 });
  const client = http1Client(cluster.pids().front.url, cluster);
  for (const name of accounts)
    expect((await client.request('POST', collection, { body: { metadata: { name } } })).status).toBe(201);
  client.close();
}, slowTestMs);

afterAll(() => cluster.stop(), slowTestMs);

test(
  `${restarts} rolling restarts at ${requestsPerSecond} requests/s fail no request, over kept and new connections and HTTP/2, and ${watches} watches and ${informers} informers miss nothing`,
  async () => {
    const target = { ca: cluster.ca, token: cluster.token, url: cluster.pids().front.url };
    const each = { ...target, namespace: 'rolling', names: accounts, count: informers / 2 };
    const followers = informers > 0 ? [followWithClientGo(each), followWithClientNode(each)] : [];
    for (const one of followers) await one.begun();
    const watching = startResumingWatches({
      ...target,
      collection,
      names: accounts,
      count: watches,
      revision: await readRevision(),
    });
    const load = steadyLoad();
    const beganMs = clock.monotonicMs();
    const seen: Restart[] = [];
    const reports: FollowersReport[] = [];
    try {
      for (let restart = 0; restart < restarts; restart += 1) {
        const before = load.requests.length;
        await until('traffic', () => load.requests.length >= before + responsesBetween || undefined, restartMs);
        await watching.opened();
        const replica = restart % replicas;
        const { pid, url } = running(replica);
        const [open, resumedBefore] = [await countWatches(url), watching.resumed];
        const logOffset = cluster.log('front').length;
        const stoppedMs = clock.monotonicMs();
        process.kill(pid, 'SIGTERM');
        await until('a new process', () => running(replica).pid !== pid || undefined, restartMs);
        const message = `${new URL(url).host} takes new connections`;
        await until(
          'the front to use the replica again',
          () => cluster.log('front').slice(logOffset).includes(message) || undefined,
          restartMs,
        );
        seen.push({ stoppedMs, readyMs: clock.monotonicMs(), open, resumed: watching.resumed - resumedBefore });
      }
      await load.stop();
      const written = revisionsByName(load.requests);
      await watching.judge(written);
      for (const one of followers) reports.push(await one.judge(written));
    } finally {
      await load.stop();
      watching.stop();
      for (const one of followers) await one.end();
    }
    expect(watching.faults).toEqual([]);
    expect(reports.flatMap(({ faults }) => faults)).toEqual([]);
    // Informers go on where their watches ended: none reads all objects again.
    expect(reports.map(({ lists }) => lists)).toEqual(followers.map(() => each.count));
    // Each watch of the replica comes back once.
    expect(seen.filter(({ open, resumed }) => resumed > open)).toEqual([]);
    expect(watching.resumed).toBeGreaterThan(0);
    const resumed = reports.reduce((sum, { watches: opened }) => sum + opened - each.count, watching.resumed);
    const ended = seen.reduce((sum, { open }) => sum + open, 0);
    expect(resumed).toBeLessThanOrEqual(ended * resumedShareMax);
    const tookMs = clock.monotonicMs() - beganMs;
    expect(load.requests.filter(({ fault }) => fault !== undefined)).toEqual([]);
    for (const { stoppedMs, readyMs } of seen) {
      const meanwhile = new Set(
        load.requests.filter(({ returnedMs }) => returnedMs > stoppedMs && returnedMs < readyMs).map(({ by }) => by),
      );
      expect([...meanwhile].sort()).toEqual(['HTTP/1.1', 'HTTP/2', 'a new connection']);
    }
    const reachedShare = ((load.requests.length / tookMs) * 1000) / requestsPerSecond;
    if (reachedShare < reachedShareMin) throw new DeadlineError(`only ${reachedShare} of the rate was reached`);
    const slowestMs = load.requests.reduce((most, { sentMs, returnedMs }) => Math.max(most, returnedMs - sentMs), 0);
    console.log(
      `${load.requests.length} requests in ${(tookMs / 1000).toFixed(0)} s, the slowest took ${slowestMs.toFixed(0)} ms; ${watches} watches were resumed ${watching.resumed} times, and those of ${informers} informers ${resumed - watching.resumed} times`,
    );
  },
  slowTestMs,
);

type ConnectionKind = 'HTTP/1.1' | 'HTTP/2' | 'a new connection';

/** Sends requests at a constant rate, independent of responses. */
function steadyLoad(): { readonly requests: readonly RequestRecord[]; stop(): Promise<void> } {
  const { url } = cluster.pids().front;
  const random = seededRandom(4);
  const idle = Array.from({ length: kept }, () => http1Client(url, cluster));
  const multiplexed = Array.from({ length: sessions }, () => http2Client(url, cluster));
  const requests: RequestRecord[] = [];
  const pending = new Set<Promise<void>>();
  const stopping = new AbortController();

  const send = (): void => {
    const single =
      random.below(100) < newConnectionsPercent ? http1Client(url, cluster, { keepAlive: false }) : undefined;
    const own = single || random.below(100) < http2Percent ? undefined : idle.shift();
    const connection: ConnectionKind = single ? 'a new connection' : own ? 'HTTP/1.1' : 'HTTP/2';
    const client = single ?? own ?? multiplexed[random.below(sessions)];
    const chosen = operations[random.below(operations.length)];
    if (!client || !chosen) return;
    const done = sendAndCheck(client, connection, chosen(accounts[random.below(accounts.length)] ?? '')).then((one) => {
      requests.push(one);
      if (own) idle.push(own);
      single?.close();
      pending.delete(done);
    });
    pending.add(done);
  };
  const pacing = (async () => {
    const beganMs = clock.monotonicMs();
    for (let sent = 0; !stopping.signal.aborted; ) {
      const due = ((clock.monotonicMs() - beganMs) / 1000) * requestsPerSecond;
      for (; sent < due; sent += 1) send();
      await sleep(clock, paceMs);
    }
  })();
  return {
    requests,
    stop: async () => {
      stopping.abort();
      await pacing;
      await Promise.all(pending);
      for (const client of [...idle, ...multiplexed]) client.close();
    },
  };
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly options?: RequestOptions;
  readonly fits: (answer: Sent) => boolean;
}

interface Sent {
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
  readonly items?: readonly unknown[];
}

const get = (name: string): Operation => ({
  method: 'GET',
  path: `${collection}/${name}`,
  fits: ({ metadata }) => metadata?.name === name,
});
const list = (): Operation => ({
  method: 'GET',
  path: collection,
  fits: ({ items }) => items?.length === accounts.length,
});
const patch = (name: string): Operation => ({
  ...get(name),
  method: 'PATCH',
  options: { body: { metadata: { annotations: { at: `${clock.monotonicMs()}` } } } },
});
/** Each operation is as frequent as in this list. */
const operations = [get, get, get, get, patch, patch, list];

async function sendAndCheck(
  client: Client,
  by: ConnectionKind,
  { method, path, options, fits }: Operation,
): Promise<RequestRecord> {
  const sentMs = clock.monotonicMs();
  const result = await client.request(method, path, options).then(
    ({ status, body }) => {
      const sent = status === 200 ? (JSON.parse(body) as Sent) : undefined;
      if (!sent || !fits(sent)) return { fault: `${status} ${body}`, written: undefined };
      const { name = '', resourceVersion } = sent.metadata ?? {};
      return {
        fault: undefined,
        written: method === 'PATCH' ? { name, revision: Number(resourceVersion) } : undefined,
      };
    },
    (error: unknown) => ({ fault: String(error), written: undefined }),
  );
  return { by, what: `${method} ${path}`, sentMs, returnedMs: clock.monotonicMs(), ...result };
}

/** In the order of etcd. A patch that changes nothing returns the revision before. */
function revisionsByName(requests: readonly RequestRecord[]): ReadonlyMap<string, readonly number[]> {
  const written = requests.flatMap((request) => request.written ?? []);
  const byName = [...Map.groupBy(written, ({ name }) => name)];
  return new Map(
    byName.map(([name, all]) => [
      name,
      [...new Set(all.map(({ revision }) => revision))].sort((one, other) => one - other),
    ]),
  );
}

async function readRevision(): Promise<string> {
  const { body } = await requestOnce(cluster.pids().front.url, cluster, 'GET', collection);
  return (JSON.parse(body) as Sent).metadata?.resourceVersion ?? '';
}

/** The open watches of a replica. */
async function countWatches(url: string): Promise<number> {
  const { body } = await requestOnce(url, cluster, 'GET', '/metrics');
  return [...body.matchAll(/^apiserver_longrunning_requests\{.* (\d+)$/gm)].reduce(
    (sum, [, value]) => sum + Number(value),
    0,
  );
}

const running = (replica: number): { pid: number; url: string } =>
  cluster.pids().replicas[replica] ?? { pid: 0, url: '' };
