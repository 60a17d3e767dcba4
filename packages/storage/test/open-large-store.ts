import { type CleanupStack, systemClock, systemRandom } from '@cluster-apiserver/base';
import { EtcdClient } from '../src/etcd/client.ts';
import { EtcdStore } from '../src/etcd/etcd-store.ts';
import { http2Connect } from '../src/etcd/http2-transport.ts';
import type { FollowedStore } from '../src/store.ts';
import { identity } from '../src/transform/transformer.ts';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';

/** Benches wait for etcd, which may be busy for seconds with a million keys or its disk. */
const electionTimeoutMs = 10_000;

/** Enough space for millions of objects. */
const quotaBytes = 8 * 2 ** 30;

export interface LargeStore {
  readonly endpoints: readonly string[];
  readonly client: EtcdClient;
  readonly store: FollowedStore;
}

/**
 * The store of benches: an etcd of one member with much space, and a client. It does not encrypt, so that benches measure
 * the watch cache and etcd; what encryption costs is compared in docs/benchmarks.md.
 */
export async function openLargeStore(cleanup: CleanupStack): Promise<LargeStore> {
  const { endpoints, stop } = await startEtcd({ flags: ['--quota-backend-bytes', String(quotaBytes)] });
  cleanup.defer('etcd', stop);
  return { endpoints, ...connectLargeStore(endpoints, cleanup) };
}

/** Opens the same store in another thread. */
export function connectLargeStore(endpoints: readonly string[], cleanup: CleanupStack): Omit<LargeStore, 'endpoints'> {
  const client = new EtcdClient({
    endpoints,
    connect: http2Connect(systemClock, undefined, { electionTimeoutMs }),
    electionTimeoutMs,
    clock: systemClock,
    random: systemRandom(),
  });
  cleanup.defer('client', () => client.close());
  return { client, store: new EtcdStore({ client, transformer: identity, internalPrefix: '/registry/.own/' }) };
}
