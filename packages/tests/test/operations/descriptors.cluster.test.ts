import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { connect, type Socket } from 'node:net';
import { CleanupStack } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { isReady } from '@cluster-apiserver/testkit/api-client';
import { describeIf } from '../describe-if.ts';
import { loadReplicas } from './replica-load.ts';
import { type Replica, type Replicas, startReplicas } from './replicas.ts';

const slowTestMs = 120_000;
const rounds = repetitions({ ci: 1, soak: 5 });
const responsesBetween = 100;
const connections = 60;
const sparedDescriptors = 20;

const cleanup = new CleanupStack();
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

describeIf(canLimit(), 'a limit of descriptors', 'prlimit is missing or not permitted', () => {
  let etcd: RealEtcd;
  let replicas: Replicas;
  beforeAll(async () => {
    etcd = await startEtcd();
    cleanup.defer('etcd', () => etcd.stop());
    replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}, {}] });
    cleanup.defer('replicas', () => replicas.stop());
  }, slowTestMs);

  test(
    'a replica without descriptors serves the connections that it has, and accepts others once it may',
    async () => {
      const load = await loadReplicas(replicas, { etcdEndpoints: etcd.endpoints }, cleanup);
      const [limited] = replicas.all as [Replica];
      for (let round = 0; round < rounds; round++) {
        await load.waitForResponses(responsesBetween);
        limitDescriptors(limited.pid, countDescriptors(limited.pid) + sparedDescriptors);
        const sockets = openConnections(limited.url);
        await until('a refused connection', () => sockets.some(({ closed }) => closed) || undefined);
        await load.waitForResponses(responsesBetween);
        limitDescriptors(limited.pid, 4_096);
        for (const socket of sockets) socket.destroy();
        await until('a new connection', () => isReady(limited.url, replicas));
      }
      const { violations, late, writes } = await load.judge();
      expect(violations).toEqual([]);
      expect(late).toEqual([]);
      expect(writes).toBeGreaterThan(rounds * 20);
    },
    slowTestMs,
  );
});

function canLimit(): boolean {
  try {
    execFileSync('prlimit', ['--pid', `${process.pid}`, '--nofile'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** The soft limit, which may be raised again. */
const limitDescriptors = (pid: number, count: number): void =>
  void execFileSync('prlimit', ['--pid', `${pid}`, `--nofile=${count}:`]);

const countDescriptors = (pid: number): number => fs.readdirSync(`/proc/${pid}/fd`).length;

function openConnections(url: string): Socket[] {
  const { port } = new URL(url);
  return Array.from({ length: connections }, () => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => {}); // refused
    return socket;
  });
}
