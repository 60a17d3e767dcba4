import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CleanupStack, seededRandom } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Registry } from '@cluster-apiserver/registry';
import { revision, StorageUnavailableError } from '@cluster-apiserver/storage';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { type DisturbedStore, disturbedStore } from '../../../controllers/test/disturbed-store.ts';
import { listObjects, openTestRegistry, removeObject, resourceIn, untimed } from '../../../controllers/test/objects.ts';
import { createRecordedLog } from '../../../controllers/test/recorded-log.ts';
import { quietTurns, until } from '../../../controllers/test/turns.ts';
import { openReplicas, type Replicas } from './replicas.ts';

/** A replica with an own clock, so that it stands still when its clock does. */
interface TestReplica {
  readonly replicas: Replicas;
  readonly clock: FakeClock;
  readonly registry: Registry;
  readonly store: DisturbedStore;
  readonly log: ReturnType<typeof createRecordedLog>['events'];
  stop(): Promise<void>;
}

let memory: ReturnType<typeof memoryStore>;
let opened: TestReplica[];

beforeEach(() => {
  memory = memoryStore(fakeClock());
  opened = [];
});
afterEach(async () => {
  for (const { stop, registry } of opened) {
    await stop();
    await registry.cache.close();
  }
  memory.close();
});

async function open(name: string, startMs = 0): Promise<TestReplica> {
  const clock = fakeClock(startMs);
  const store = disturbedStore(memory);
  const registry = openTestRegistry(store, clock);
  const cleanup = new CleanupStack();
  const { log, events } = createRecordedLog();
  const filled = registry.cache.firstLoad;
  const replicas = openReplicas(
    { api: registry.api, namespaces: undefined, filled, version: 'v1', facts: () => ({ name }) },
    { environment: { clock, random: seededRandom(1), hostname: name }, serverId: name, log },
    cleanup,
  ) as Replicas;
  const replica = { replicas, clock, registry, store, log: events, stop: () => cleanup.close() };
  opened.push(replica);
  await until('its Lease', () => namesSeenBy(replica).includes(name));
  return replica;
}

const namesSeenBy = ({ replicas }: TestReplica): readonly string[] =>
  replicas.live().map(({ facts }) => facts['name'] ?? '');
const seenBy = (replica: TestReplica): string => namesSeenBy(replica).toSorted().join();

const leases = ({ registry }: TestReplica): Promise<readonly KubeObject[]> =>
  listObjects(resourceIn(registry, 'leases'));

/** As long as there is time for two renewals to fail, and another to find that out. */
const expiryMs = 50_000;

/** Lets the clocks of these replicas run, as those of others stand still. */
async function run(ms: number, ...running: TestReplica[]): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 5_000) {
    for (const { clock } of running) clock.advance(5_000);
    await quietTurns();
  }
}

test('a replica has a Lease like one of kube-apiserver, with facts about itself', async () => {
  const one = await open('one', Date.UTC(2026, 0, 1));
  const [lease] = await leases(one);
  expect(lease).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^apiserver-[0-9a-f]{32}$/),
      namespace: 'kube-system',
      labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver', 'kubernetes.io/hostname': 'one' },
      annotations: { 'platform.io/name': 'one', 'platform.io/version': 'v1' },
      managedFields: [{ manager: 'kube-apiserver', operation: 'Update' }],
    },
    spec: {
      holderIdentity: `${lease?.metadata.name}_one`,
      leaseDurationSeconds: 30,
      renewTime: '2026-01-01T00:00:00.000000Z',
    },
  });
  await run(10_000, one);
  expect(one.replicas.live()).toMatchObject([
    { identity: one.replicas.identity, hostname: 'one', renewTime: '2026-01-01T00:00:10.000000Z' },
  ]);
});

test('replicas know each other; one that died is forgotten when its Lease has expired, and the Lease is deleted', async () => {
  const [one, two, dead] = [await open('one'), await open('two'), await open('dead')];
  await run(20_000, one, two, dead);
  for (const each of [one, two, dead]) expect(seenBy(each)).toBe('dead,one,two');
  await run(20_000, one, two);
  expect(seenBy(one)).toBe('dead,one,two');
  await run(expiryMs, one, two);
  for (const each of [one, two]) expect(seenBy(each)).toBe('one,two');
  expect(await leases(one)).toHaveLength(2);
  // It had only stood still.
  await run(20_000, one, two, dead);
  for (const each of [one, two, dead]) expect(seenBy(each)).toBe('dead,one,two');
});

test('a clean stop takes the Lease away at once', async () => {
  const [one, two] = [await open('one'), await open('two')];
  expect(seenBy(one)).toBe('one,two');
  await two.stop();
  await until('one knows', () => seenBy(one) === 'one');
  expect(await leases(one)).toHaveLength(1);
});

test('clocks that differ make nobody dead, and the difference is known', async () => {
  const hourMs = 3_600_000;
  const [one, late, early] = [
    await open('one', 2 * hourMs),
    await open('late', hourMs),
    await open('early', 3 * hourMs),
  ];
  await run(expiryMs, one, late, early);
  expect(seenBy(one)).toBe('early,late,one');
  const offsets = one.replicas.live().map(({ facts, clockOffsetMs }) => [facts['name'], clockOffsetMs]);
  expect(Object.fromEntries(offsets)).toMatchObject({ one: 0, late: -hourMs, early: hourMs });
});

test('an outage of the storage, and a pause of this process, make nobody dead', async () => {
  const [one, two] = [await open('one'), await open('two')];
  const fail = (): never => {
    throw new StorageUnavailableError('etcd is down');
  };
  for (const { store } of [one, two]) store.beforeWrite = fail;
  await run(300_000, one, two);
  expect(seenBy(one)).toBe('one,two');
  expect(one.log).toEqual([]); // etcd has a line of its own
  for (const { store } of [one, two]) store.beforeWrite = () => {};
  await run(10_000, one);
  expect(seenBy(one)).toBe('one,two');
  await run(expiryMs, one, two);
  expect(seenBy(one)).toBe('one,two');
  one.clock.advance(600_000);
  await quietTurns();
  expect(seenBy(one)).toBe('one,two');
});

test('facts are published at once, those that come together in one write, and others hear of them', async () => {
  const [one, two] = [await open('one'), await open('two')];
  let heard = 0;
  const stopListening = two.replicas.onChange(() => void heard++);
  const before = one.store.asked.writes;
  one.replicas.publish('a', '1');
  one.replicas.publish('b', '2');
  await until('two knows', () => two.replicas.live().some(({ facts }) => facts['a'] === '1' && facts['b'] === '2'));
  await quietTurns();
  expect(one.store.asked.writes - before).toBe(1);
  expect(heard).toBe(1);
  one.replicas.publish('a', '1');
  await quietTurns();
  expect(one.store.asked.writes - before).toBe(1);
  let release = (): void => {};
  one.store.beforeWrite = () => new Promise<void>((resolve) => (release = resolve));
  one.replicas.publish('a', '3');
  await until('the write is in flight', () => one.store.asked.writes - before === 2);
  one.replicas.publish('a', '4');
  one.replicas.publish('a', '5');
  one.store.beforeWrite = () => {};
  release();
  await until('two knows the last', () => two.replicas.live().some(({ facts }) => facts['a'] === '5'));
  expect(one.store.asked.writes - before).toBe(3);
  stopListening();
});

test('a Lease that somebody deleted comes back', async () => {
  const one = await open('one');
  const { identity } = one.replicas;
  await removeObject(resourceIn(one.registry, 'leases'), { namespace: 'kube-system', name: identity });
  await until('it is gone', () => seenBy(one) === '');
  await run(10_000, one);
  expect(seenBy(one)).toBe('one');
});

test('a stop does not wait for a storage that hangs', async () => {
  const one = await open('one');
  one.store.beforeWrite = () => new Promise<void>(() => {});
  one.replicas.publish('a', '1');
  await until('the write is in flight', () => one.store.asked.writes === 1);
  const stopped = one.stop();
  one.clock.advance(1_000);
  await stopped;
});

test('after etcd was restored from a backup, replicas know each other again', async () => {
  const [one, two] = [await open('one'), await open('two')];
  await run(10_000, one, two);
  const backup = await memory.readLatestRevision(untimed);
  await run(20_000, one, two);
  const late = await open('late');
  memory.restore(backup);
  await run(expiryMs, one, two, late);
  for (const each of [one, two, late]) expect(seenBy(each)).toBe('late,one,two');
  memory.restore(backup, revision(10_000));
  await run(expiryMs, one, two);
  expect(seenBy(one)).toBe('one,two');
});

test('a listener that cannot read the storage is called again, and holds up no other', async () => {
  const one = await open('one');
  const calls = { first: 0, second: 0 };
  one.replicas.onChange(() => {
    calls.first++;
    throw new StorageUnavailableError('a key is unavailable');
  });
  one.replicas.onChange(() => void calls.second++);
  await run(20_000, one);
  expect(calls.first).toBeGreaterThan(1);
  expect(calls.second).toBe(calls.first);
});
