import { callUntil } from '@cluster-apiserver/base';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openStore, within } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import type { EtcdClient } from './client.ts';
import { SharedLeases } from './leases.ts';
import { decodeMessage, encodeMessage, readNested, readFields, readInt64 } from '../protobuf/fields.ts';
import { revokeLease } from './wire/lease.ts';

let etcd: RealEtcd;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

/** Counts the calls of a client by their path. */
function countCalls(client: EtcdClient): ReadonlyMap<string, number> {
  const calls = new Map<string, number>();
  const send = client.call.bind(client);
  client.call = (rpc, request, call) => {
    calls.set(rpc.path, (calls.get(rpc.path) ?? 0) + 1);
    return send(rpc, request, call);
  };
  return calls;
}

const grantPath = '/etcdserverpb.Lease/LeaseGrant';

test('2500 writers at once share three leases, of at most a thousand keys each', async () => {
  const { client } = openStore(etcd.endpoints);
  const calls = countCalls(client);
  const leases = new SharedLeases(client);
  const ids = await Promise.all(Array.from({ length: 2_500 }, () => leases.acquire(3_600, within(5_000))));
  expect(calls.get(grantPath)).toBe(3);
  for (const id of new Set(ids)) expect(ids.filter((one) => one === id).length).toBeLessThanOrEqual(1_000);
  client.close();
});

test('different times to live have different leases', async () => {
  const { client } = openStore(etcd.endpoints);
  const leases = new SharedLeases(client);
  expect(await leases.acquire(3_600, within(5_000))).not.toBe(await leases.acquire(60, within(5_000)));
  client.close();
});

test('a lease is used no longer than its window', async () => {
  const opened = openStore(etcd.endpoints);
  let nowMs = 0;
  const client = {
    random: opened.client.random,
    history: opened.client.history,
    clock: { ...opened.client.clock, monotonicMs: () => nowMs },
    stallAwareClock: opened.client.stallAwareClock,
    call: (...args: Parameters<EtcdClient['call']>) => opened.client.call(...args),
  } as EtcdClient; // leases use nothing else of it
  const leases = new SharedLeases(client);
  const call = callUntil(Number.MAX_SAFE_INTEGER);
  const first = await leases.acquire(3_600, call);
  nowMs = 59_000;
  expect(await leases.acquire(3_600, call)).toBe(first);
  nowMs = 61_000;
  expect(await leases.acquire(3_600, call)).not.toBe(first);
  opened.client.close();
});

test('a write whose lease was revoked is retried with another', async () => {
  const opened = openStore(etcd.endpoints);
  const { store, client } = opened;
  await store.create('/lease/a', Buffer.from('x'), { timeToLiveSeconds: 600 }, within(5_000));
  for (const id of await leaseIds(client)) await client.call(revokeLease, id, within(5_000));
  expect((await store.get('/lease/a', within(5_000))).stored).toBeUndefined();
  await store.create('/lease/b', Buffer.from('x'), { timeToLiveSeconds: 600 }, within(5_000));
  expect((await store.get('/lease/b', within(5_000))).stored).toBeDefined();
  client.close();
});

/** The leases that exist, by a method that only this test needs: field 2 of the answer repeats a status with an id. */
async function leaseIds(client: EtcdClient): Promise<readonly number[]> {
  const ids: number[] = [];
  await client.call(
    {
      path: '/etcdserverpb.Lease/LeaseLeases',
      encode: () => encodeMessage(() => {}),
      decode: (message: Buffer) =>
        decodeMessage(message, (field, reader) => {
          if (field !== 2) return false;
          readNested(reader, (_, end) =>
            readFields(reader, end, (inner) => {
              if (inner !== 1) return false;
              ids.push(readInt64(reader));
              return true;
            }),
          );
          return true;
        }),
    },
    undefined,
    within(5_000),
  );
  return ids;
}
