import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { type OpenedStore, openStore, within } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { startProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { RevisionCompactedError } from '../errors.ts';
import { revision } from '../revision.ts';
import { startCompaction } from './compaction.ts';
import { Election, type ElectionEvent } from './election.ts';

let etcd: RealEtcd;
let run = 0;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

const timeToLiveSeconds = 2;

function candidate(
  key: string,
  endpoints = etcd.endpoints,
): OpenedStore & { election: Election; terms: AbortSignal[] } {
  const opened = openStore(endpoints);
  const terms: AbortSignal[] = [];
  const election = new Election({
    client: opened.client,
    key,
    identity: 'test',
    timeToLiveSeconds,
    lead: (term) => {
      terms.push(term);
    },
  });
  return { ...opened, election, terms };
}

async function close(...candidates: readonly ReturnType<typeof candidate>[]): Promise<void> {
  for (const { election, client } of candidates) {
    await election.close();
    client.close();
  }
}

test('one of three leads; when it resigns, another does at its next check', async () => {
  const key = `/election/${run++}`;
  const candidates = [candidate(key), candidate(key), candidate(key)];
  const leading = () => candidates.filter(({ election }) => election.isLeading);
  const first = await until('a leader', () => leading()[0]);
  expect(leading()).toHaveLength(1);
  await first.election.close();
  expect(first.terms[0]?.aborted).toBe(true);
  await until('another leader', () => leading()[0]);
  expect(leading()).toHaveLength(1);
  await close(...candidates);
});

test('a leader stays leader beyond its lease by renewing it', async () => {
  const key = `/election/${run++}`;
  const one = candidate(key);
  await until('a leader', () => one.election.isLeading || undefined);
  const other = candidate(key);
  const startMs = performance.now();
  await until('three lives', () => performance.now() - startMs > timeToLiveSeconds * 3_000 || undefined);
  expect(one.terms).toHaveLength(1);
  expect(one.election.isLeading).toBe(true);
  expect(other.terms).toHaveLength(0);
  expect(other.election.vacantMs).toBeLessThan(timeToLiveSeconds * 1_000);
  await close(one, other);
});

test('a disconnected leader stops before another begins', async () => {
  const key = `/election/${run++}`;
  const proxy = await startProxy(etcd.endpoints[0] as string);
  const one = candidate(key, [proxy.endpoint]);
  await until('a leader', () => one.election.isLeading || undefined);
  const other = candidate(key);
  proxy.silent = true;
  const order: string[] = [];
  one.terms[0]?.addEventListener('abort', () => order.push('first stops'));
  await until('the other to lead', () => other.election.isLeading || undefined);
  order.push('second leads');
  expect(order).toEqual(['first stops', 'second leads']);
  proxy.silent = false;
  proxy.cut();
  await close(one, other);
  await proxy.close();
});

test('an election closed at any moment ends, and leaves the key to others', async () => {
  const key = `/election/${run++}`;
  for (let waitMs = 0; waitMs < 20; waitMs++) {
    const one = candidate(key);
    await pause(waitMs);
    await close(one);
    expect(one.election.isLeading).toBe(false);
    expect(one.terms.every(({ aborted }) => aborted)).toBe(true);
  }
  const last = candidate(key);
  await until('a leader', () => last.election.isLeading || undefined);
  await close(last);
});

test('a leader that resigns keeps the others away until its work has stopped', async () => {
  const key = `/election/${run++}`;
  const working = Promise.withResolvers<void>();
  const opened = openStore(etcd.endpoints);
  const one = new Election({
    client: opened.client,
    key,
    identity: 'one',
    timeToLiveSeconds,
    lead: () => working.promise,
  });
  await until('a leader', () => one.isLeading || undefined);
  const other = candidate(key);
  let closed = false;
  const closing = one.close().then(() => {
    closed = true;
  });
  // Longer than its lease lives, were it not renewed.
  const startMs = performance.now();
  await until('two lives', () => performance.now() - startMs > timeToLiveSeconds * 2_000 || undefined);
  expect(one.isLeading).toBe(false);
  expect(other.terms).toHaveLength(0);
  expect(closed).toBe(false);
  working.resolve();
  await closing;
  await until('the other to lead', () => other.election.isLeading || undefined);
  await close(other);
  opened.client.close();
});

test('a leader that lost its lease campaigns again only after its work has stopped', async () => {
  const key = `/election/${run++}`;
  const proxy = await startProxy(etcd.endpoints[0] as string);
  const { client } = openStore([proxy.endpoint]);
  const working = Promise.withResolvers<void>();
  const terms: AbortSignal[] = [];
  const election = new Election({
    client,
    key,
    identity: 'one',
    timeToLiveSeconds,
    lead: (term) => {
      terms.push(term);
      return terms.length === 1 ? working.promise : undefined;
    },
  });
  await until('a leader', () => election.isLeading || undefined);
  proxy.silent = true;
  await until('the end of the term', () => terms[0]?.aborted || undefined);
  expect(election.isLeading).toBe(false);
  proxy.silent = false;
  proxy.cut();
  // The key is free now, and could be acquired again.
  const other = openStore(etcd.endpoints);
  await until('the lease to end', async () =>
    (await other.store.get(key, within(2_000))).stored === undefined ? true : undefined,
  );
  const startMs = performance.now();
  await until('another life', () => performance.now() - startMs > timeToLiveSeconds * 1_000 || undefined);
  expect(terms).toHaveLength(1);
  working.resolve();
  await until('another term', () => terms.length === 2 || undefined);
  await election.close();
  for (const one of [client, other.client]) one.close();
  await proxy.close();
});

test('a process that has stalled no longer leads, even before its timers fire', async () => {
  let stoodStillMs = 0;
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + stoodStillMs };
  const { client } = openStore(etcd.endpoints, { clock });
  const election = new Election({ client, key: `/election/${run++}`, identity: 'one', timeToLiveSeconds });
  await until('a leader', () => election.isLeading || undefined);
  stoodStillMs = timeToLiveSeconds * 1_000;
  expect(election.isLeading).toBe(false);
  await election.close();
  client.close();
});

test.each(['', '-term'])(
  'a key%s without a lease, which would block elections, is removed and reported',
  async (suffix) => {
    const key = `/election/${run++}`;
    const { client, store } = openStore(etcd.endpoints);
    await store.create(key + suffix, Buffer.from('garbage'), {}, within(2_000));
    const events: ElectionEvent[] = [];
    const report = (event: ElectionEvent): void => void events.push(event);
    const election = new Election({ client, key, identity: 'one', timeToLiveSeconds, report });
    await until('a leader', () => election.isLeading || undefined);
    expect(events).toEqual([{ type: 'key repaired', key: key + suffix, value: 'garbage' }]);
    await election.close();
    client.close();
  },
);

test('the leader compacts to the revision of an interval ago, and the others do not', async () => {
  const { client, store } = openStore(etcd.endpoints);
  const first = await store.create(`/compaction/${run++}`, Buffer.from('x'), {}, within(2_000));
  const compacted: string[] = [];
  const start = (name: string, leading: boolean) =>
    startCompaction({
      client,
      election: { isLeading: leading, vacantMs: 0 },
      intervalMs: 50,
      report: ({ type }) => compacted.push(`${name} ${type}`),
    });
  const compactions = [start('leader', true), start('other', false)];
  await store.create(`/compaction/${run++}`, Buffer.from('x'), {}, within(2_000));
  await until('a compaction', () => compacted.length > 0 || undefined);
  for (const compaction of compactions) compaction.close();
  expect(new Set(compacted)).toEqual(new Set(['leader compacted']));
  const old = store.list({ prefix: '/', revision: revision(first - 1) }, within(2_000));
  await expect(old).rejects.toThrow(RevisionCompactedError);
  client.close();
});
