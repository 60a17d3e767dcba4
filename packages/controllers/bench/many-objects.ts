/**
 * What the controllers cost with many dependents of one owner, and with many objects in a deleted namespace: the time,
 * the requests to etcd and the longest event-loop iteration, of one replica with an etcd of its own. It is measured
 * in CPU time of its thread, so that the other processes of a machine do not count; pauses of V8's collector do.
 *
 *   node --conditions=source packages/controllers/bench/many-objects.ts [objects, 100000 by default] [owners | chain | namespace | held]
 */
import { randomUUID } from 'node:crypto';
import { callUntil, CleanupStack, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { bytesOf, encodeStored } from '@cluster-apiserver/model/codec';
import type { KubeObject, ObjectMeta } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { create, deleteObject, openRegistry, type Resource, StoredKinds } from '@cluster-apiserver/registry';
import { type Call, revision, type FollowedStore } from '@cluster-apiserver/storage';
import { type Turn, watchTurns } from '@cluster-apiserver/testkit/turns';
import { until } from '@cluster-apiserver/testkit/until';
import { openLargeStore } from '../../storage/test/open-large-store.ts';
import { createLog, type Log } from '@cluster-apiserver/telemetry';
import { collectGarbage } from '../src/garbage-collector/garbage-collector.ts';
import type { ControllerMeasures } from '../src/index.ts';
import { drainNamespaces } from '../src/namespaces/namespace-controller.ts';

const count = Number(process.argv[2] ?? 100_000);
const only = process.argv[3];
const isWanted = (part: 'owners' | 'chain' | 'namespace' | 'held'): boolean => only === undefined || only === part;
const writers = 32;
const limitMs = 15 * 60_000;
/** The owners of a chain, each of which owns the next; the last one owns all other objects. */
const chainLength = Math.min(10_000, count / 10);
/** How long a held namespace is watched for requests that it should not cause. */
const quietMs = 20_000;

const cleanup = new CleanupStack();
const { store: direct } = await openLargeStore(cleanup);

const requests = { reads: 0, writes: 0, barriers: 0, lists: 0 };
const counted = (store: FollowedStore): FollowedStore => ({
  watch: (...args) => store.watch(...args),
  requestProgress: () => store.requestProgress(),
  restartWatches: () => store.restartWatches(),
  onHistoryReplaced: (listener) => store.onHistoryReplaced(listener),
  get historyNumber() {
    return store.historyNumber;
  },
  get: (...args) => (requests.reads++, store.get(...args)),
  list: (...args) => (requests.lists++, store.list(...args)),
  readLatestRevision: (...args) => (requests.barriers++, store.readLatestRevision(...args)),
  create: (...args) => (requests.writes++, store.create(...args)),
  update: (...args) => (requests.writes++, store.update(...args)),
  delete: (...args) => (requests.writes++, store.delete(...args)),
  end: (...args) => (requests.writes++, store.end(...args)),
  writeCongestion: 1,
});
const registry = openRegistry({
  kinds: kinds({ eventLifetimeSeconds: 3_600 }),
  store: counted(direct),
  storedKinds: new StoredKinds('/registry'),
  clock,
  random: systemRandom(),
  report: () => {},
});
cleanup.defer('cache', () => registry.cache.close());
await registry.cache.firstLoad;
const resourceOf = (plural: string): Resource =>
  registry.api.stored.find(({ kind }) => kind.plural === plural) as Resource; // both are served
const [namespaces, accounts] = [resourceOf('namespaces'), resourceOf('serviceaccounts')];

const within = (): Call => callUntil(clock.monotonicMs() + 30_000);
const quiet = { dryRun: false, manager: 'bench', warn: () => {} };

async function make(
  resource: Resource,
  name: string,
  namespace: string | undefined,
  ownerReferences: readonly object[] = [],
): Promise<KubeObject> {
  const { kind, apiVersion, schema } = resource.kind;
  const draft = decode(schema, { kind, apiVersion, metadata: { name, ownerReferences } }, () => {});
  return (await create(resource, draft, { ...quiet, namespace }, within())).object;
}

/** Written past the verbs, because only their deletion is measured. */
async function fill(namespace: string, more: Partial<ObjectMeta>): Promise<void> {
  let next = 0;
  let last = revision(0);
  const write = async (): Promise<void> => {
    while (next < count) {
      const name = `account-${next++}`;
      const creationTimestamp = '2026-01-01T00:00:00Z';
      const metadata = { name, namespace, uid: randomUUID(), creationTimestamp, ...more };
      const value = bytesOf(encodeStored({ kind: 'ServiceAccount', apiVersion: 'v1', metadata }));
      last = await direct.create(`/registry/serviceaccounts/${namespace}/${name}`, value, {}, within());
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  await accounts.collection.waitUntilFresh(last, within());
}

const unmeasured: ControllerMeasures = {
  queued: () => {},
  added: () => {},
  began: () => () => {},
  retried: () => {},
  unreadable: () => {},
};
const log: Log = createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: () => {} });
const term = new AbortController();
const options = { api: registry.api, clock, random: systemRandom(), signal: term.signal };
let synced = (): void => {};
const isSynced = new Promise<void>((resolve) => (synced = resolve));
const running = [
  collectGarbage({
    ...options,
    measures: unmeasured,
    log: { ...log, debug: (_, message) => message.includes('synced') && synced() },
  }),
  drainNamespaces({ ...options, measures: unmeasured, log }),
];
cleanup.defer('controllers', async () => {
  term.abort(new Error('the bench is over'));
  await Promise.all(running);
});
await isSynced;

async function measure(what: string, begin: () => Promise<unknown>, end: () => boolean): Promise<void> {
  // What filling left behind is not measured.
  await new Promise<void>((resolve) => void clock.after(2_000, resolve));
  Object.assign(requests, { reads: 0, writes: 0, barriers: 0, lists: 0 });
  const watched = watchTurns();
  const beganMs = clock.monotonicMs();
  await begin();
  await until(what, () => end() || undefined, limitMs);
  const seconds = (clock.monotonicMs() - beganMs) / 1_000;
  const turns = watched.end();
  const longest = (among: readonly Turn[]): string => (among[0]?.processorMs ?? 0).toFixed(1);
  const { reads, writes, barriers, lists } = requests;
  console.log(
    `${what}: ${seconds.toFixed(1)} s, ${writes} writes, ${reads} reads, ${barriers} barriers, ${lists} lists; ` +
      `longest turn ${longest(turns)} ms, without a pause of V8's collector in it ` +
      `${longest(turns.filter(({ pausedMs }) => pausedMs === 0))} ms; ` +
      `${turns.filter(({ processorMs }) => processorMs > 10).length} turns above 10 ms`,
  );
}

const isGone = (resource: Resource, key: string): boolean => resource.collection.get(key) === undefined;
const left = (): number => accounts.collection.view().items.size;
const remove = (resource: Resource, name: string, namespace: string | undefined, propagationPolicy?: string) =>
  deleteObject(resource, name, { namespace, dryRun: false, propagationPolicy }, within());

for (const policy of isWanted('owners') ? (['Background', 'Foreground', 'Orphan'] as const) : []) {
  const namespace = `of-${policy.toLowerCase()}`;
  await make(namespaces, namespace, undefined);
  const owner = await make(accounts, 'owner', namespace);
  const { kind, apiVersion, metadata } = owner;
  const reference = { apiVersion, kind, name: metadata.name, uid: metadata.uid as string, blockOwnerDeletion: true };
  await fill(namespace, { ownerReferences: [reference as never] });
  const before = left();
  await measure(
    `owner of ${count} deleted with ${policy}`,
    () => remove(accounts, 'owner', namespace, policy),
    () => isGone(accounts, `${namespace}/owner`) && left() === (policy === 'Orphan' ? before - 1 : before - 1 - count),
  );
}

if (isWanted('chain')) {
  const namespace = 'in-chain';
  await make(namespaces, namespace, undefined);
  let owners: readonly object[] = [];
  for (let at = 0; at < chainLength; at++) {
    const { kind, apiVersion, metadata } = await make(accounts, `owner-${at}`, namespace, owners);
    owners = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: true }];
  }
  await fill(namespace, { ownerReferences: owners as never });
  const before = left();
  await measure(
    `chain of ${chainLength} owners, the last of ${count}, deleted with Foreground`,
    () => remove(accounts, 'owner-0', namespace, 'Foreground'),
    () => left() === before - chainLength - count,
  );
}

if (isWanted('namespace')) {
  await make(namespaces, 'full', undefined);
  await fill('full', {});
  await measure(
    `namespace of ${count} deleted`,
    () => remove(namespaces, 'full', undefined),
    () => isGone(namespaces, 'full'),
  );
}

if (isWanted('held')) {
  await make(namespaces, 'held', undefined);
  await fill('held', { finalizers: ['example.com/hold'] });
  let marked = 0;
  accounts.collection.subscribe({
    onChange: ({ current }) => {
      if (current && !current.unreadable && current.lifecycle?.deletionTimestamp) marked++;
    },
    onReset: () => {},
  });
  await measure(
    `namespace of ${count} held objects deleted`,
    () => remove(namespaces, 'held', undefined),
    () => marked === count,
  );
  const quietUntilMs = clock.monotonicMs() + 2_000 + quietMs;
  await measure(
    `the same namespace, ${quietMs / 1_000} s later`,
    async () => {},
    () => clock.monotonicMs() > quietUntilMs,
  );
}
await cleanup.close();
