import { expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import type { EtcdClient } from './client.ts';
import { History } from './history.ts';
import { type OwnWriteOptions, OwnWrites } from './own-writes.ts';
import { StallAwareClock } from './stall-aware-clock.ts';

const source = { kind: 'ServiceAccount' };
const [value, first, second] = [Buffer.from('value'), Buffer.from('first'), Buffer.from('second')];
const content = { value, source };
const call = callUntil(Number.POSITIVE_INFINITY);
const electionTimeoutMs = 1_000;

function open() {
  const clock = fakeClock();
  const history = new History();
  const counts = { requests: 0, restarts: 0 };
  const stallAwareClock = new StallAwareClock(clock);
  const budgetLeftMs = (sinceMs: number): number => sinceMs + 6 * electionTimeoutMs - clock.monotonicMs();
  // Own writes use nothing else of the client.
  const client = { clock, stallAwareClock, history, electionTimeoutMs, budgetLeftMs } as unknown as EtcdClient;
  const own = new OwnWrites(client, {
    request: () => counts.requests++,
    restartWatches: () => counts.restarts++,
  });
  return { own, clock, history, counts };
}

const update = (after: number, stored: Buffer = first): OwnWriteOptions => ({
  key: '/a',
  after,
  isNext: true,
  stored: [stored],
  content,
});
const create = (after: number): OwnWriteOptions => ({ ...update(after), isNext: false });
const deletion = (after: number): OwnWriteOptions => ({ ...update(after), stored: undefined, content: undefined });

test('a write is recognised by its key and bytes, once', () => {
  const { own } = open();
  own.end(own.begin(create(1)), true);
  expect(own.note('/a', 2, Buffer.from('theirs'))).toBeUndefined();
  expect(own.note('/b', 3, first)).toBeUndefined();
  expect(own.note('/a', 4, Buffer.from('first'))).toEqual(content);
  expect(own.note('/a', 5, first)).toBeUndefined();
});

test('several writes of one key are recognised in their order, whatever pieces they were sent in', () => {
  const { own } = open();
  const pieces = [second.subarray(0, 2), Buffer.alloc(0), second.subarray(2)];
  own.end(own.begin(update(1)), true);
  own.end(own.begin({ ...update(2), stored: pieces }), true);
  own.end(own.begin(update(3)), true);
  expect(own.note('/a', 2, first)).toEqual(content);
  expect(own.note('/a', 3, second)).toEqual(content);
  expect(own.note('/a', 4, first)).toEqual(content);
});

test('a failed write is forgotten, and no other one of its key', () => {
  const { own } = open();
  const refused = own.begin(update(1));
  own.end(own.begin(update(1, second)), true);
  own.end(refused, false);
  expect(own.note('/a', 2, second)).toEqual(content);
});

test('contents that never come back are dropped by size, the oldest first, also those of one key', () => {
  const { own } = open();
  const large = Buffer.alloc(1024 * 1024, 'large');
  const written = (key: string, after: number): OwnWriteOptions => ({
    ...{ key, after, isNext: true },
    ...{ stored: [Buffer.concat([large])], content: { value: large, source: undefined } },
  });
  for (let n = 0; n < 20; n++) own.end(own.begin(written(`/${n}`, 1)), true);
  const known = Array.from({ length: 20 }, (_, n) => n).filter((n) => own.note(`/${n}`, 2, large) !== undefined);
  expect(known).toEqual([16, 17, 18, 19]);
  for (let n = 0; n < 20; n++) own.end(own.begin(written('/same', n)), true);
  const kept = Array.from({ length: 20 }, (_, n) => n).filter((n) => own.note('/same', n + 1, large) !== undefined);
  expect(kept.length).toBeLessThanOrEqual(4);
});

test('the next change after the replaced revision proves an update or a deletion, or rules it out', async () => {
  const { own } = open();
  own.beginFeed(0);
  const written = own.begin(update(5));
  const removed = own.begin(deletion(5));
  own.note('/a', 5, second);
  own.note('/a', 6, first);
  own.advance(6);
  expect(await own.prove(written, 6, call)).toEqual({ applied: 6 });
  expect(await own.prove(removed, 6, call)).toBe('overtaken');
  const again = own.begin(deletion(6));
  own.note('/a', 7, undefined);
  own.advance(7);
  expect(await own.prove(again, 7, call)).toEqual({ applied: 7 });
});

test('any later change with its bytes proves a create, and none of them rules it out before the feed is there', async () => {
  const { own } = open();
  own.beginFeed(0);
  const created = own.begin(create(5));
  own.note('/a', 6, second);
  own.note('/a', 7, undefined);
  own.advance(7);
  expect(await own.prove(created, 7, call)).toBeUndefined();
  own.note('/a', 8, first);
  own.advance(8);
  expect(await own.prove(created, 8, call)).toEqual({ applied: 8 });
});

test('a proof waits for the feed, asks it for its progress, and fails when it does not come', async () => {
  const { own, clock, counts } = open();
  own.beginFeed(0);
  const written = own.begin(update(5));
  let proof: unknown;
  const proving = own.prove(written, 9, call).then((found) => (proof = found));
  await untilTurned(() => {
    clock.advance(20);
    return counts.requests > 2;
  });
  expect(proof).toBeUndefined();
  own.note('/a', 6, first);
  clock.advance(20);
  await proving;
  expect(proof).toEqual({ applied: 6 });
  const late = own.prove(own.begin(update(9)), 10, call).catch((error: unknown) => error);
  for (let passedMs = 0; passedMs <= 2 * electionTimeoutMs; passedMs += 20) {
    clock.advance(20);
    await new Promise(setImmediate);
  }
  expect(await late).toMatchObject({ name: 'StorageUnavailableError' });
});

test('a silent feed is restarted once for all proofs that wait for it', async () => {
  const { own, clock, counts } = open();
  own.beginFeed(0);
  const proofs: Promise<unknown>[] = [];
  for (let passedMs = 0; passedMs < 0.8 * electionTimeoutMs; passedMs += 20) {
    proofs.push(own.prove(own.begin({ ...update(5), key: `/${passedMs}` }), 9, call));
    clock.advance(20);
    await new Promise(setImmediate);
  }
  expect(counts.restarts).toBe(1);
  own.advance(9);
  clock.advance(20);
  await Promise.all(proofs);
});

test('without a feed, after a gap and in another history nothing is proven', async () => {
  const { own, history } = open();
  await expect(own.prove(own.begin(update(5)), 6, call)).rejects.toMatchObject({ name: 'StorageUnavailableError' });
  own.beginFeed(5);
  const skipped = own.begin(update(5));
  own.beginFeed(8);
  await expect(own.prove(skipped, 6, call)).rejects.toMatchObject({ name: 'StorageUnavailableError' });
  const replaced = own.begin(update(8));
  history.replace('revision', { clusterId: 1, revision: 3 });
  await expect(own.prove(replaced, 9, call)).rejects.toMatchObject({ name: 'StorageUnavailableError' });
  expect(own.note('/a', 9, first)).toBeUndefined();
});
