/**
 * Measures one replica with many objects: startup time, latency of a get and of a page, and the cost of following other
 * replicas' writes. Also the longest iterations of its event loop and its memory while it loads, receives many changes at
 * once, serves old revisions from memory and from etcd, and lets returning watchers catch up. Turns are measured in
 * CPU time of the thread, which excludes other processes.
 *
 *   node --conditions=source packages/tests/bench/event-loop.ts [objects, 100000 by default] [bytes of each, 1100] [--save]
 *
 * From about 500,000 objects on it needs --max-old-space-size, see docs/scaling.md.
 */
import { callUntil, CleanupStack, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import {
  get,
  list,
  type ListOptions,
  openRegistry,
  type Registry,
  type Resource,
  watch,
  StoredKinds,
} from '@cluster-apiserver/registry';
import { type Call, type Revision, revision } from '@cluster-apiserver/storage';
import { type Turn, watchTurns } from '@cluster-apiserver/testkit/turns';
import { openLargeStore } from '../../storage/test/open-large-store.ts';
import { forEach, keyOf, nameOf, namespaceOf, valueOf } from './accounts.ts';
import { args, saveSizing } from './save-measured.ts';
import { updateInThread } from './update-accounts.ts';

const [objects = 100_000, objectBytes = 1_100] = args.map(Number);
const changes = Math.min(objects, 20_000);
const watchers = 8;
const gets = 2_000;
const pageObjects = 500;

const cleanup = new CleanupStack();
const { endpoints, store } = await openLargeStore(cleanup);
const within = (): Call => callUntil(clock.monotonicMs() + 60_000);

const open = (): Registry =>
  openRegistry({
    kinds: kinds({ eventLifetimeSeconds: 3_600 }),
    store,
    storedKinds: new StoredKinds('/registry'),
    clock,
    random: systemRandom(),
    report: () => {},
  });
const accountsOf = ({ api }: Registry): Resource =>
  api.stored.find(({ kind }) => kind.plural === 'serviceaccounts') as Resource; // it is served

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);
function memory(): string {
  const { rss, heapUsed } = process.memoryUsage();
  return `${mebibytes(rss)} MiB, of them ${mebibytes(heapUsed)} heap in use`;
}
const longest = (turns: readonly Turn[]): string => (turns[0]?.processorMs ?? 0).toFixed(1);
async function measure<T>(what: string, work: () => Promise<T>): Promise<T> {
  const watched = watchTurns();
  const beganMs = clock.monotonicMs();
  const result = await work();
  const tookMs = clock.monotonicMs() - beganMs;
  const turns = watched.end();
  console.log(
    `${what}: ${Math.round(tookMs)} ms; longest iteration ${longest(turns)} ms, ` +
      `without a pause of V8's collector ${longest(turns.filter(({ pausedMs }) => pausedMs === 0))} ms; ` +
      `${turns.filter(({ processorMs }) => processorMs > 20).length} iterations above 20 ms; ` +
      memory(),
  );
  return result;
}

/** Calls `act` sequentially and prints the latency. */
async function measureLatency(what: string, times: number, act: (n: number) => Promise<unknown>): Promise<void> {
  const took: number[] = [];
  await measure(`${times} ${what}`, async () => {
    for (let n = 0; n < times; n++) {
      const beganMs = clock.monotonicMs();
      await act(n);
      took.push(clock.monotonicMs() - beganMs);
    }
  });
  took.sort((one, other) => one - other);
  const at = (part: number): string => (took[Math.floor((took.length - 1) * part)] ?? 0).toFixed(2);
  console.log(`  each: median ${at(0.5)} ms, 99th percentile ${at(0.99)} ms, slowest ${at(1)} ms`);
}

const selection = { namespace: undefined, labels: undefined, fields: undefined };
const listWith = (registry: Registry, options: Partial<ListOptions>): ReturnType<typeof list> =>
  list(
    accountsOf(registry),
    {
      ...selection,
      resourceVersion: undefined,
      resourceVersionMatch: undefined,
      limit: undefined,
      continue: undefined,
      sendInitialEvents: undefined,
      ...options,
    },
    within(),
  );
const listAt = (registry: Registry, at: Revision, limit?: number): Promise<unknown> =>
  listWith(registry, { resourceVersion: String(at), resourceVersionMatch: 'Exact', limit });

async function measureReads(registry: Registry): Promise<void> {
  for (const resourceVersion of [undefined, '0']) {
    const how = resourceVersion === undefined ? 'through the quorum' : 'from memory';
    await measureLatency(`gets ${how}`, gets, async (n) => {
      const account = { namespace: namespaceOf(n % objects), name: nameOf(n % objects) };
      return get(accountsOf(registry), account, resourceVersion, within());
    });
  }
  let next: string | undefined;
  await measureLatency(`pages of ${pageObjects}`, Math.ceil(objects / pageObjects), async () => {
    ({ continue: next } = await listWith(registry, { limit: pageObjects, continue: next }));
  });
}

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
  await forEach(objects, async (n) =>
    last.set(n, await store.create(keyOf(n), valueOf(n, 0, objectBytes), {}, within())),
  );
  const filled = revision([...last.values()].reduce((newest, at) => Math.max(newest, at), 0));
  const loadBeganMs = clock.monotonicMs();
  let registry = await measure(`load of ${objects} objects`, async () => {
    const opened = open();
    await opened.cache.firstLoad;
    // A replica loads a past state, and the first read waits for the changes since then.
    await accountsOf(opened).collection.waitUntilFresh(undefined, within());
    return opened;
  });
  const loadSeconds = (clock.monotonicMs() - loadBeganMs) / 1_000;
  // Of fewer objects, what this process has left of writing them would be too large a part.
  if (objects >= 500_000)
    saveSizing(
      `replica: ${objects.toLocaleString('en')} objects of ${objectBytes.toLocaleString('en')} bytes`,
      `${mebibytes(process.memoryUsage().rss).toLocaleString('en')} MiB, read in ${loadSeconds.toFixed(1)} s`,
    );
  await measureReads(registry);
  const update = (n: number, round: number): Promise<Revision> =>
    store.update(keyOf(n), valueOf(n, round, objectBytes), last.get(n) ?? revision(0), {}, within());
  await measure(`${changes} updates`, async () => {
    await forEach(changes, async (n) => last.set(n, await update(n, 1)));
    await accountsOf(registry).collection.waitUntilFresh(undefined, within());
  });
  // Copying the revisions of all accounts to the thread would block this one.
  const lastOfChanged = new Map(Array.from({ length: changes }, (_, n) => [n, last.get(n) ?? revision(0)]));
  const before = process.threadCpuUsage();
  const newest = await measure(`${changes} updates of another process, followed`, async () => {
    const at = await updateInThread({ endpoints, count: changes, objectBytes, last: lastOfChanged });
    await accountsOf(registry).collection.waitUntilFresh(at, within());
    return at;
  });
  const { user, system } = process.threadCpuUsage(before);
  const eachUs = (user + system) / changes;
  console.log(`  each: ${eachUs.toFixed(0)} µs of CPU time, so ${Math.round(1e6 / eachUs)} a second fill the thread`);
  if (objects === 100_000) saveSizing('replica: following the writes of all replicas', `${eachUs.toFixed(0)} µs each`);
  await measure('a list of the past out of memory', () => listAt(registry, revision(Math.max(filled, newest - 4_000))));
  await measure('a list of the past out of etcd', () => listAt(registry, filled));
  await measure('pages of the past out of etcd, 20 readers', () =>
    Promise.all(Array.from({ length: 20 }, () => listAt(registry, filled, 2_000))),
  );
  await registry.cache.close();
  registry = await measure('another load, with the last changes', async () => {
    const opened = open();
    await opened.cache.firstLoad;
    await accountsOf(opened).collection.waitUntilFresh(newest, within());
    return opened;
  });
  await measure(`${watchers} watchers that read the history`, () =>
    Promise.all(Array.from({ length: watchers }, () => catchUp(registry, filled, 2 * changes))),
  );
  await registry.cache.close();
} finally {
  await cleanup.close();
}
