/**
 * The longest turns of the event loop of one replica while it loads many objects, is told many changes at once, reads
 * the past out of memory and out of etcd, and lets returning watchers catch up; and the memory after each. A turn is
 * measured in processor time of its thread, so that the other processes of a machine do not count.
 *
 *   node --conditions=source packages/tests/bench/long-turns.ts [objects, 100000 by default] [bytes of each, 500]
 */
import { randomUUID } from 'node:crypto';
import { callUntil, Scope, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { bytesOf, encodeStored, type KubeObject } from '@cluster-apiserver/model';
import { list, openRegistry, type Registry, type Resource, watch } from '@cluster-apiserver/registry';
import {
  type Call,
  etcdStore,
  http2Connect,
  identity,
  openEtcdClient,
  type Revision,
  revision,
} from '@cluster-apiserver/storage';
import { type Turn, watchTurns } from '../../base/test/turns.ts';
import { startEtcd } from '../../storage/test/real-etcd.ts';

const [objects = 100_000, objectBytes = 500] = process.argv.slice(2).map(Number);
const changes = Math.min(objects, 20_000);
const watchers = 200;
const writers = 32;
const namespaces = 100;

const scope = new Scope();
const etcd = await startEtcd({ flags: ['--quota-backend-bytes', String(8 * 2 ** 30)] });
scope.onClose('etcd', () => etcd.stop());
const client = openEtcdClient({
  endpoints: etcd.endpoints,
  connect: http2Connect(clock),
  clock,
  random: systemRandom(),
});
scope.onClose('client', () => client.close());
const store = etcdStore({ client, transformer: identity, ownPrefix: '/registry/.own/' });
const within = (): Call => callUntil(clock.monotonicMs() + 60_000);

const keyOf = (n: number): string => `/registry/serviceaccounts/n-${n % namespaces}/account-${n}`;
function valueOf(n: number, round: number): Buffer {
  const metadata = {
    name: `account-${n}`,
    namespace: `n-${n % namespaces}`,
    uid: randomUUID(),
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { number: String(n), round: String(round) },
    annotations: { note: 'x'.repeat(Math.max(0, objectBytes - 300)) },
  };
  return bytesOf(encodeStored({ kind: 'ServiceAccount', apiVersion: 'v1', metadata } satisfies KubeObject));
}

/** Several at a time. */
async function forEach(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: writers }, worker));
}

const open = (): Registry =>
  openRegistry({
    kinds: kinds({ eventLifetimeSeconds: 3_600 }),
    store,
    keyPrefix: '/registry',
    clock,
    random: systemRandom(),
    report: () => {},
  });
const accountsOf = ({ resources }: Registry): Resource =>
  resources.find(({ kind }) => kind.plural === 'serviceaccounts') as Resource; // it is served

const longest = (turns: readonly Turn[]): string => (turns[0]?.processorMs ?? 0).toFixed(1);
async function measure<T>(what: string, work: () => Promise<T>): Promise<T> {
  const watched = watchTurns();
  const beganMs = clock.monotonicMs();
  const result = await work();
  const tookMs = clock.monotonicMs() - beganMs;
  const turns = watched.end();
  console.log(
    `${what}: ${Math.round(tookMs)} ms; longest turn ${longest(turns)} ms, ` +
      `without a pause of V8's collector ${longest(turns.filter(({ hadPause }) => !hadPause))} ms; ` +
      `${turns.filter(({ processorMs }) => processorMs > 20).length} turns above 20 ms; ` +
      `${Math.round(process.memoryUsage().rss / 2 ** 20)} MiB`,
  );
  return result;
}

const selection = { namespace: undefined, labels: undefined, fields: undefined };
const listAt = (registry: Registry, at: Revision, limit?: number): Promise<unknown> =>
  list(
    accountsOf(registry),
    {
      ...selection,
      resourceVersion: String(at),
      resourceVersionMatch: 'Exact',
      limit,
      continue: undefined,
      sendInitialEvents: undefined,
    },
    within(),
  );

async function catchUp(registry: Registry, from: Revision, count: number): Promise<void> {
  const watching = await watch(
    accountsOf(registry),
    {
      ...selection,
      resourceVersion: String(from),
      resourceVersionMatch: undefined,
      sendInitialEvents: undefined,
      allowWatchBookmarks: false,
      continue: undefined,
    },
    within(),
  );
  for (let events = 0; events < count; ) {
    const batch = watching.take();
    if (batch) events += batch.events.length;
    else await new Promise<void>((resolve) => watching.wait(resolve));
  }
  watching.close();
}

try {
  const last = new Map<number, Revision>();
  await forEach(objects, async (n) => last.set(n, await store.create(keyOf(n), valueOf(n, 0), {}, within())));
  const filled = revision(Math.max(...last.values()));
  let registry = await measure(`load of ${objects} objects`, async () => {
    const opened = open();
    await opened.cache.filled;
    return opened;
  });
  const update = (n: number, round: number): Promise<Revision> =>
    store.update(keyOf(n), valueOf(n, round), last.get(n) ?? revision(0), {}, within());
  const changed = await measure(`${changes} updates`, async () => {
    await forEach(changes, async (n) => last.set(n, await update(n, 1)));
    const at = await store.head(within());
    await accountsOf(registry).collection.reach(at, within());
    return at;
  });
  await measure('a list of the past out of memory', () => listAt(registry, revision(changed - 4_000)));
  await measure('a list of the past out of etcd', () => listAt(registry, filled));
  await measure('pages of the past out of etcd, 20 readers', () =>
    Promise.all(Array.from({ length: 20 }, () => listAt(registry, filled, 2_000))),
  );
  await registry.cache.close();
  registry = await measure('another load, with the last changes', async () => {
    const opened = open();
    await opened.cache.filled;
    await accountsOf(opened).collection.reach(changed, within());
    return opened;
  });
  await measure(`a catch-up of ${watchers} watchers`, () =>
    Promise.all(Array.from({ length: watchers }, () => catchUp(registry, filled, changes))),
  );
  await registry.cache.close();
} finally {
  await scope.close();
}
