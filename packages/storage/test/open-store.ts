import { callUntil, systemClock, systemRandom } from '@cluster-apiserver/base';
import { EtcdClient, type EtcdOptions } from '../src/etcd/client.ts';
import type { EtcdEvent } from '../src/etcd/etcd-event.ts';
import { EtcdStore } from '../src/etcd/etcd-store.ts';
import { http2Connect } from '../src/etcd/http2-transport.ts';
import type { StoreUnderTest } from './contract/store-contract.ts';
import { compact } from '../src/etcd/wire/key-value.ts';
import type { Call, FollowedStore } from '../src/store.ts';
import { identity, type Transformer } from '../src/transform/transformer.ts';

export interface OpenedStore {
  readonly client: EtcdClient;
  readonly store: FollowedStore;
  readonly events: readonly EtcdEvent[];
  /** Resolves when its feed has begun. */
  readonly followed: Promise<void>;
}

interface OpenOptions extends Partial<EtcdOptions> {
  readonly transformer?: Transformer;
  /** Whether it has a feed, as in a server, which proves the outcome of writes. */
  readonly isFollowed?: boolean;
}

export function openStore(
  endpoints: readonly string[],
  { transformer = identity, isFollowed = false, ...options }: OpenOptions = {},
): OpenedStore {
  const { electionTimeoutMs } = options;
  const events: EtcdEvent[] = [];
  const client = new EtcdClient({
    endpoints,
    connect: http2Connect(systemClock, undefined, electionTimeoutMs === undefined ? {} : { electionTimeoutMs }),
    clock: systemClock,
    random: systemRandom(),
    report: (event) => events.push(event),
    ...options,
  });
  const store = new EtcdStore({ client, transformer, internalPrefix: '/own/' });
  return { client, store, events, followed: isFollowed ? follow(store) : Promise.resolve() };
}

async function follow(store: FollowedStore): Promise<void> {
  const latest = await store.readLatestRevision(within(60_000));
  const feed = store.watch('/', latest, new AbortController().signal, { withPrevious: false })[Symbol.asyncIterator]();
  const readNext = (): Promise<unknown> => feed.next().then(({ done }) => done || readNext());
  void readNext().catch(() => {}); // ends with the client
}

let opened = 0;

/** A store for the contract suite, with a prefix of its own. */
export function openForContract(...from: Parameters<typeof openStore>): StoreUnderTest {
  const { client, store } = openStore(...from);
  return {
    store,
    prefix: `/contract/${opened++}/`,
    compact: async (oldest) => {
      await client.call(compact, oldest, within(5_000));
    },
    close: async () => client.close(),
  };
}

export const within = (timeoutMs: number): Call => callUntil(systemClock.monotonicMs() + timeoutMs);
