import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type OpenedStore, openStore, within } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { CorruptValueError, StorageFullError, ValueTooLargeError } from '../errors.ts';
import type { Transformer } from '../transform/transformer.ts';
import { startCompaction } from './compaction.ts';

const quotaBytes = 8 * 1024 * 1024;

let etcd: RealEtcd;
let opened: OpenedStore;
beforeAll(async () => {
  etcd = await startEtcd();
  opened = openStore(etcd.endpoints);
});
afterAll(async () => {
  opened.client.close();
  await etcd.stop();
});

test.each([
  { bytes: 1_600_000, limit: 'of a request' },
  { bytes: 4_000_000, limit: 'of a message' },
])('a value of $bytes bytes is beyond the limit $limit, and refused as too large', async ({ bytes }) => {
  const created = opened.store.create('/large', Buffer.alloc(bytes), {}, within(5_000));
  await expect(created).rejects.toThrow(ValueTooLargeError);
  expect((await opened.store.get('/large', within(5_000))).stored).toBeUndefined();
});

test('a list returns readable values, and unreadable entries in the place of others', async () => {
  const transformer: Transformer = {
    toStorage: (value) => [value],
    fromStorage: async (value) => {
      if (value.toString().startsWith('bad')) throw new Error('the key is not there any more');
      return { value, stale: true };
    },
  };
  const { client, store } = openStore(etcd.endpoints, { transformer });
  for (let n = 0; n < 130; n++) {
    await store.create(
      `/corrupt/${String(n).padStart(3, '0')}`,
      Buffer.from(n < 120 ? 'bad' : 'good'),
      {},
      within(5_000),
    );
  }
  const { entries } = await store.list({ prefix: '/corrupt/' }, within(5_000));
  expect(entries).toHaveLength(130);
  const unreadable = entries.filter((entry) => entry.unreadable);
  expect(unreadable).toHaveLength(120);
  expect(unreadable[119]).toMatchObject({ key: '/corrupt/119', unreadable: expect.any(CorruptValueError) });
  await expect(store.get('/corrupt/000', within(5_000))).rejects.toThrow(CorruptValueError);
  expect(entries.filter((entry) => !entry.unreadable && entry.stale)).toHaveLength(10);
  client.close();
});

test('a full etcd refuses writes at once, while reads, deletions and compaction go on', async () => {
  const small = await startEtcd({ flags: ['--quota-backend-bytes', String(quotaBytes)] });
  const { store, client } = openStore(small.endpoints, { isFollowed: true });
  const chunk = Buffer.alloc(500_000);
  let last = await store.create('/fill/0', chunk, {}, within(5_000));
  let error: unknown;
  for (let n = 1; n < 100 && !error; n++) {
    await store.create(`/fill/${n}`, chunk, {}, within(5_000)).then(
      (revision) => {
        last = revision;
      },
      (thrown) => {
        error = thrown;
      },
    );
  }
  expect(error).toBeInstanceOf(StorageFullError);
  await expect(store.update('/fill/0', chunk, last, {}, within(5_000))).rejects.toThrow(StorageFullError);

  const { stored } = await store.get('/fill/0', within(5_000));
  if (!stored) throw new Error('the value is gone');
  const deleted = await store.delete('/fill/0', stored.revision, within(5_000));
  expect(deleted).toBeGreaterThan(last);

  // An election is a write, so there is no leader; then every replica compacts.
  const compacted = new Promise<number>((resolve) => {
    const compaction = startCompaction({
      client,
      election: { isLeading: false, vacantMs: 60_000 },
      intervalMs: 50,
      report: (event) => {
        if (event.type !== 'compacted') return;
        compaction.close();
        resolve(event.revision);
      },
    });
  });
  expect(await compacted).toBe(deleted);
  client.close();
  await small.stop();
});
