import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import { seededRandom, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { type Cluster, startCluster } from '../cluster.ts';
import { until } from '../../../base/test/until.ts';
import { allKeys } from '../etcd.ts';
import { http1Client } from '../fault/client.ts';
import { type Case, shown } from './case.ts';
import { choose } from './choose.ts';
import { http1Cases } from './http1-cases.ts';
import { http2Cases } from './http2-cases.ts';
import { send } from './send.ts';

const slowTestMs = 300_000;
const cases = 10_000;
/** Another one finds other things; a failure names it, and the number of the case. */
const seed = 1;
/** As many at a time as keep a small machine busy. */
const clients = 16;
/** The server's heap grows to its working size first (323, 386, 383, 401, 402 MiB after 4,000 each); what counts is what comes on top. */
const warmUpCases = 8_000;
const growthMaxMiB = 50;
/** A process is at rest when its memory has stayed the same for so many looks in a row. */
const rest = { looks: 10, pauseMs: 200, changeMiB: 1 };
/** A connection that we broke counts as one of a client that reads slowly, which has a minute. */
const restMs = 90_000;
/** Of this test, the front and the launcher, which ask how it is. */
const ownConnectionsMax = 4;
const livezPauseMs = 50;
const faultsShownMax = 10;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ replicas: 1, etcdMembers: 1 });
}, slowTestMs);

afterAll(() => cluster.stop(), slowTestMs);

test(
  `${cases} malformed requests (seed ${seed}) crash nothing, are told what is wrong, and leave no memory behind`,
  async () => {
    const { pid } = replica();
    const livez = watchLivez();
    try {
      // Numbers of their own, so that the cases that count can be run without those before them.
      expect(await faultsOf(cases, cases + warmUpCases)).toEqual([]);
      const before = await memoryAtRest(pid);
      const beganMs = clock.monotonicMs();
      expect(await faultsOf(0, cases)).toEqual([]);
      const seconds = (clock.monotonicMs() - beganMs) / 1_000;
      const after = await memoryAtRest(pid);
      console.log(
        `seed ${seed}: ${cases} cases in ${seconds.toFixed(0)} s, memory ${before.toFixed(0)} to ${after.toFixed(0)} MiB, livez at most ${livez.slowestMs().toFixed(0)} ms`,
      );
      expect(after - before).toBeLessThan(growthMaxMiB);
    } finally {
      await livez.stop();
    }
    expect(livez.failures).toEqual([]);
    expect(replica().pid).toBe(pid);
    expect(
      cluster
        .log('replica-1')
        .split('\n')
        // That etcd was slow is the machine's doing, and readiness says so.
        .filter((line) => / ERROR /.test(line) && !/ check=etcd /.test(line)),
    ).toEqual([]);
  },
  slowTestMs,
);

test('whatever was asked for, every key lies below its resource and its namespace', async () => {
  const keys = await allKeys(cluster.pids().etcd[0]?.url ?? '');
  const known = [
    /^\/registry\/\.own\//,
    /^\/registry\/namespaces\/[^/]+$/,
    /^\/registry\/(serviceaccounts|events)\/[^/]+\/[^/]+$/,
  ];
  expect(keys.length).toBeGreaterThan(0);
  expect(keys.filter((key) => !known.some((form) => form.test(key)))).toEqual([]);
});

const replica = (): { pid: number; url: string } => cluster.pids().replicas[0] ?? { pid: 0, url: '' };

/** The case of a number is the same whichever ran before it. */
function caseAt(number: number): Case {
  const random = seededRandom(seed * 1_000_003 + number);
  return choose(random, choose(random, [http1Cases, http1Cases, http2Cases]))(random, cluster.token);
}

/** Runs the cases from one number to before another, and stops early when enough has gone wrong. */
async function faultsOf(from: number, to: number): Promise<string[]> {
  const target = { port: Number(new URL(replica().url).port), ca: cluster.ca };
  const faults: string[] = [];
  let next = from;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (next < to && faults.length < faultsShownMax) {
        const number = next++;
        const one = caseAt(number);
        for (const fault of await send(one, target))
          faults.push(`seed ${seed} case ${number}: ${fault}\n${shown(one)}`.replaceAll(cluster.token, '<token>'));
      }
    }),
  );
  return faults;
}

function watchLivez(): { readonly failures: string[]; slowestMs(): number; stop(): Promise<void> } {
  const failures: string[] = [];
  const stopping = new AbortController();
  let slowestMs = 0;
  const loop = (async () => {
    const client = http1Client(replica().url, cluster);
    while (!stopping.signal.aborted) {
      const sentMs = clock.monotonicMs();
      const status = await client.request('GET', '/livez').then((answer) => `${answer.status}`, String);
      slowestMs = Math.max(slowestMs, clock.monotonicMs() - sentMs);
      if (status !== '200') failures.push(status);
      await sleep(clock, livezPauseMs);
    }
    client.close();
  })();
  return {
    failures,
    slowestMs: () => slowestMs,
    stop: async () => {
      stopping.abort();
      await loop;
    },
  };
}

/** What a process holds when nobody wants anything of it: only then is what it keeps a leak. */
async function memoryAtRest(pid: number): Promise<number> {
  await until('the end of all connections', () => openConnections() <= ownConnectionsMax || undefined, restMs);
  let compared = Number.POSITIVE_INFINITY;
  let quiet = 0;
  return until(
    'a memory that stays the same',
    async () => {
      await sleep(clock, rest.pauseMs);
      const now = residentMiB(pid);
      quiet = Math.abs(now - compared) > rest.changeMiB ? 0 : quiet + 1;
      if (quiet === 0) compared = now;
      return quiet >= rest.looks ? now : undefined;
    },
    restMs,
  );
}

/** The kernel's list of connections: addresses in hexadecimal, 06 for one that is only remembered, 0A for the listener. */
function openConnections(): number {
  const port = Number(new URL(replica().url).port).toString(16).toUpperCase().padStart(4, '0');
  const mine = new RegExp(`^\\s*\\d+: [0-9A-F]{8}:${port} [0-9A-F]{8}:[0-9A-F]{4} (?!06|0A)`);
  return fs
    .readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .filter((line) => mine.test(line)).length;
}

const residentMiB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
