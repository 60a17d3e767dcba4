import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requireValue, seededRandom, systemClock, systemRandom } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { openStore, within } from '../../test/open-store.ts';
import { CollectionSuspendedError } from '../errors.ts';
import type { Entry } from '../store.ts';
import { kmsV1 } from '../transform/kms/kms-v1.ts';
import type { KmsPlugin } from '../transform/kms/plugin-monitor.ts';
import type { CacheItem } from '../watch-cache/collection-descriptor.ts';
import { WatchCache } from '../watch-cache/watch-cache.ts';

const prefix = '/secrets/';
const objects = 10_000;

let etcd: RealEtcd;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

/** A plugin whose decryptions wait. It encrypts keys by reversing them. */
function openPlugin(decryptions: Promise<void>): KmsPlugin & { readonly keysRequested: () => number } {
  let keysRequested = 0;
  const reversed = (key: Uint8Array): Buffer => Buffer.from(key.toReversed());
  const service = {
    version: async () => 'v1beta1',
    encrypt: async (plain: Uint8Array) => reversed(plain),
    decrypt: async (encrypted: Uint8Array) => {
      await decryptions;
      return reversed(encrypted);
    },
    close: () => {},
  };
  const ignore = (): void => {};
  const measures = {
    ...{ keyUsed: ignore, keyIdReported: ignore, keyIdInvalid: ignore, cacheSized: ignore },
    cacheMissed: () => void keysRequested++,
  };
  const options = { clock: systemClock, random: systemRandom(), measures, onRecovered: ignore, onUnhealthy: ignore };
  return { ...kmsV1(service, { ...options, cacheSize: 1_000 }), keysRequested: () => keysRequested };
}

interface Item extends CacheItem {
  readonly isReadable: boolean;
}

test('behind a plugin that hangs a bounded number of keys is requested, and all objects are there when it responds', async () => {
  const hanging = Promise.withResolvers<void>();
  const [theirPlugin, ourPlugin] = [openPlugin(Promise.resolve()), openPlugin(hanging.promise)];
  const theirs = openStore(etcd.endpoints, { transformer: theirPlugin.transformer });
  const ours = openStore(etcd.endpoints, { transformer: ourPlugin.transformer });
  const read = (entry: Entry, key: string): Item => ({
    key,
    revision: entry.revision,
    weight: 100,
    isReadable: !entry.unreadable,
  });
  const cache = new WatchCache<Item>({
    store: ours.store,
    prefix,
    collections: [{ prefix, read, termsOf: () => [] }],
    clock: systemClock,
    random: seededRandom(1),
    report: () => {},
  });
  await cache.firstLoad;
  const collection = requireValue(cache.collections[0]);
  const call = within(60_000);
  const isSuspended = (): boolean => {
    try {
      collection.view();
    } catch (error) {
      return error instanceof CollectionSuspendedError;
    }
    return false;
  };
  // From then on loads are tried again and again, each with as many keys: that takes as long as the writes do.
  const requestedBefore = until(
    'the suspension',
    () => (isSuspended() ? ourPlugin.keysRequested() : undefined),
    60_000,
  );
  for (let n = 0; n < objects; n += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, m) => theirs.store.create(`${prefix}${n + m}`, Buffer.from('x'), {}, call)),
    );
  await collection.waitUntilFresh(undefined, call);
  expect(await requestedBefore).toBeLessThan(2_500);
  hanging.resolve();
  cache.retryUnreadable();
  await until('the objects', () => collection.isReady || undefined);
  let readable = 0;
  collection.view().items.visit('', ({ isReadable }) => (readable += Number(isReadable)) >= 0);
  expect(readable).toBe(objects);
  await cache.close();
  for (const { client } of [ours, theirs]) client.close();
  for (const plugin of [ourPlugin, theirPlugin]) plugin.close();
});
