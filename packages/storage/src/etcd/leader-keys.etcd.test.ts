/** Other clients write and delete the keys of a leader. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { until } from '@cluster-apiserver/testkit/until';
import { openStore, within } from '../../test/open-store.ts';
import { Election } from './election.ts';
import { newLeaseId } from './leases.ts';
import { conditionalWrite, range } from './wire/key-value.ts';
import { grantLease, revokeLease } from './wire/lease.ts';

const timeToLiveSeconds = 2;
const cleanup = new CleanupStack();
let etcd: RealEtcd;
let run = 0;
beforeAll(async () => {
  etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
});
afterAll(() => cleanup.close());

interface Intruder {
  /** The leader's key that operators know. */
  readonly key: string;
  overwrite(key: string, lease?: number): Promise<void>;
  remove(key: string): Promise<void>;
  grantLease(): Promise<number>;
  revokeLease(lease: number): Promise<void>;
}

function openIntruder(key: string): Intruder {
  const { client } = openStore(etcd.endpoints);
  cleanup.defer('intruder', () => client.close());
  const write = async (target: string, value: Buffer[] | undefined, lease = 0): Promise<void> => {
    const [found] = (await client.call(range, { key: target }, within(2_000))).values;
    const request = { key: target, expected: found?.modRevision ?? 0, value, lease };
    expect((await client.call(conditionalWrite, request, within(2_000))).applied).toBe(true);
  };
  return {
    key,
    overwrite: (target, lease) => write(target, [Buffer.from('foreign')], lease),
    remove: (target) => write(target, undefined),
    grantLease: async () => {
      const id = newLeaseId(client.random);
      await client.call(grantLease, { id, seconds: 60 }, within(2_000));
      return id;
    },
    revokeLease: (lease) => client.call(revokeLease, lease, within(2_000)),
  };
}

interface Competition {
  join(endpoints?: readonly string[]): Promise<Election>;
  leading(): readonly Election[];
  /** The beginnings and ends of terms. Of two terms that overlap, the later one finds the other when it begins. */
  readonly log: readonly string[];
}

function openCompetition(key: string): Competition {
  const log: string[] = [];
  const elections: Election[] = [];
  const leading = (): readonly Election[] => elections.filter(({ isLeading }) => isLeading);
  return {
    log,
    leading,
    join: async (endpoints = etcd.endpoints) => {
      const { client } = openStore(endpoints);
      const lead = (term: AbortSignal): void => {
        log.push(leading().length > 1 ? 'leads beside another' : 'leads');
        term.addEventListener('abort', () => log.push('stops'));
      };
      const election = new Election({ client, key, identity: 'one', timeToLiveSeconds, lead });
      elections.push(election);
      cleanup.defer('client', () => client.close());
      cleanup.defer('election', () => election.close());
      return election;
    },
  };
}

test.each<[string, (by: Intruder) => Promise<void>]>([
  ['overwrites it without a lease', ({ key, overwrite }) => overwrite(key)],
  [
    'overwrites it with another lease, which ends',
    async ({ key, overwrite, ...by }) => {
      const lease = await by.grantLease();
      await overwrite(key, lease);
      await by.revokeLease(lease);
    },
  ],
  ['deletes it', ({ key, remove }) => remove(key)],
  [
    'deletes it and writes it again without a lease',
    async ({ key, remove, overwrite }) => {
      await remove(key);
      await overwrite(key);
    },
  ],
  [
    'deletes it before etcd restarts',
    async ({ key, remove }) => {
      await remove(key);
      for (const member of etcd.members) {
        await member.signal('SIGKILL');
        await member.start();
      }
    },
  ],
  ['overwrites the key of the term without a lease', ({ key, overwrite }) => overwrite(`${key}-term`)],
  ['deletes the key of the term', ({ key, remove }) => remove(`${key}-term`)],
])(`if another client %s, the leader stops before another begins, and one leads in the end`, async (_, intrude) => {
  const key = `/election/${run++}`;
  const { join, leading, log } = openCompetition(key);
  const first = await join();
  await until('a leader', () => first.isLeading || undefined);
  await join();
  await intrude(openIntruder(key));
  // Its first check comes before the next renewal of the leader.
  await join();
  await until('the end of the term', () => !first.isLeading || undefined);
  await until('another leader', () => leading()[0]);
  await pause(timeToLiveSeconds * 1_000);
  expect(log).toEqual(['leads', 'stops', 'leads']);
  expect(leading()).toHaveLength(1);
});

test('a leader that does not reach etcd stops before another begins, although its key was deleted', async () => {
  const key = `/election/${run++}`;
  const proxy = await startProxy(etcd.endpoints[0] as string);
  cleanup.defer('proxy', () => proxy.close());
  const { join, log } = openCompetition(key);
  const disconnected = await join([proxy.endpoint]);
  await until('a leader', () => disconnected.isLeading || undefined);
  proxy.silent = true;
  await openIntruder(key).remove(key);
  const other = await join();
  await until('another leader', () => other.isLeading || undefined);
  expect(log).toEqual(['leads', 'stops', 'leads']);
  proxy.silent = false;
  proxy.cut();
});

test('a leader stops at its next renewal if all its keys were deleted', async () => {
  const key = `/election/${run++}`;
  const { join, leading } = openCompetition(key);
  const first = await join();
  await until('a leader', () => first.isLeading || undefined);
  const other = await join();
  const intruder = openIntruder(key);
  await intruder.remove(`${key}-term`);
  await intruder.remove(key);
  await until('the end of the term', () => !first.isLeading || undefined);
  await until('another leader', () => leading()[0]);
  await pause(timeToLiveSeconds * 1_000);
  expect(leading()).toHaveLength(1);
  expect(other.vacantMs).toBeLessThan(timeToLiveSeconds * 1_000);
});

test('candidates wait while another client keeps a lease with the key', async () => {
  const key = `/election/${run++}`;
  const intruder = openIntruder(key);
  const lease = await intruder.grantLease();
  await intruder.overwrite(key, lease);
  const { join, log } = openCompetition(key);
  const election = await join();
  await pause(timeToLiveSeconds * 2_000);
  expect(log).toEqual([]);
  await intruder.revokeLease(lease);
  await until('a leader', () => election.isLeading || undefined);
});
