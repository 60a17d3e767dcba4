import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { callUntil, CleanupStack, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { Election, EtcdClient, EtcdStore, http2Connect, identity } from '@cluster-apiserver/storage';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { blocking, type Collecting, createWorld, owned, type World } from '../../test/world.ts';

let etcd: RealEtcd;
let cleanup: CleanupStack;
let client: EtcdClient;
let world: World;
let namespace = 'n0';
let run = 0;

beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

beforeEach(() => {
  namespace = `n${++run}`;
  cleanup = new CleanupStack();
  client = openClient();
  world = createWorld({ store: storeOf(client), clock, call: () => callUntil(clock.monotonicMs() + 10_000) });
  cleanup.defer('world', () => world.close());
});
afterEach(() => cleanup.close());

function openClient(): EtcdClient {
  const opened = new EtcdClient({
    endpoints: etcd.endpoints,
    connect: http2Connect(clock),
    clock,
    random: systemRandom(),
    report: () => {},
  });
  cleanup.defer('etcd', () => opened.close());
  return opened;
}

const storeOf = (of: EtcdClient) =>
  new EtcdStore({ client: of, transformer: identity, internalPrefix: '/registry/.own/' });

/** A replica: it collects for as long as it leads. */
function replica(): { readonly terms: Collecting[]; resign(): Promise<void> } {
  const own = openClient();
  const terms: Collecting[] = [];
  const election = new Election({
    client: own,
    key: `/election/${run}`,
    identity: 'a replica',
    timeToLiveSeconds: 2,
    lead: (term) => {
      const collecting = world.collect(storeOf(own));
      terms.push(collecting);
      term.addEventListener('abort', () => void collecting.stop());
    },
  });
  const resign = async (): Promise<void> => {
    await election.close();
    await Promise.all(terms.map((term) => term.stop()));
  };
  cleanup.defer('replica', resign);
  return { terms, resign };
}

function collect(): Collecting {
  const collecting = world.collect();
  cleanup.defer('collector', () => collecting.stop());
  return collecting;
}

const untilGone = (...objects: KubeObject[]): Promise<true> =>
  until(`the end of ${objects.map(({ metadata }) => metadata.name).join(', ')}`, async () => {
    const found = await Promise.all(objects.map((object) => world.read(object)));
    return found.every((object) => object === undefined) || undefined;
  });

test('dependents are deleted after, before or not at all, as the propagation policy requires', async () => {
  collect();
  const place = { namespace };
  const [background, foreground, orphaning] = [
    await world.account('background', place),
    await world.account('foreground', place),
    await world.account('orphaning', place),
  ];
  const middle = await world.account('middle', { ...place, owners: [owned(background)] });
  const leaf = await world.event('leaf', { ...place, owners: [owned(middle)] });
  const blocker = await world.account('blocker', { ...place, owners: [blocking(foreground)] });
  const below = await world.account('below', {
    ...place,
    owners: [blocking(blocker)],
    finalizers: ['example.org/hold'],
  });
  const orphan = await world.event('orphan', { ...place, owners: [owned(orphaning)] });
  await world.remove(background);
  await world.remove(foreground, 'Foreground');
  await world.remove(orphaning, 'Orphan');
  await untilGone(background, middle, leaf, orphaning);
  await until('the one below is marked', async () => (await world.read(below))?.metadata.deletionTimestamp);
  expect(await world.read(foreground)).toBeDefined();
  expect(await world.read(blocker)).toBeDefined();
  await world.change(below, (metadata) => ({ ...metadata, finalizers: [] }));
  await untilGone(below, blocker, foreground);
  expect((await world.read(orphan))?.metadata.ownerReferences).toBeUndefined();
  expect(await world.read(orphan)).toBeDefined();
});

test('dependents that were made a moment before their owner is orphaned all survive it', async () => {
  collect();
  const orphans: KubeObject[] = [];
  for (let at = 0; at < 50; at++) {
    const owner = await world.account(`owner-${at}`, { namespace });
    orphans.push(await world.event(`orphan-${at}`, { namespace, owners: [owned(owner)] }));
    await world.remove(owner, 'Orphan');
  }
  await until('all owners are gone', async () => {
    const names = await world.names(world.accounts);
    return names.every((name) => !name.startsWith('owner-')) || undefined;
  });
  for (const orphan of orphans) expect((await world.read(orphan))?.metadata.ownerReferences).toBeUndefined();
  for (const orphan of orphans) expect(await world.read(orphan)).toBeDefined();
});

test('one replica collects, and when it resigns another one continues', async () => {
  const replicas = [replica(), replica()];
  const leading = await until('a collector', () => replicas.find(({ terms }) => terms[0]?.synced));
  const other = replicas.find((one) => one !== leading);
  const [first, second] = [await world.account('first', { namespace }), await world.account('second', { namespace })];
  const ofFirst = await world.event('of-first', { namespace, owners: [owned(first)] });
  const ofSecond = await world.event('of-second', { namespace, owners: [owned(second)] });
  await world.remove(first);
  await untilGone(ofFirst);
  expect(other?.terms).toHaveLength(0);
  await leading.resign();
  await world.remove(second);
  await untilGone(ofSecond);
  expect(leading.terms).toHaveLength(1);
});

test('an etcd that dies half-way is waited for', async () => {
  const collecting = collect();
  const owner = await world.account('owner', { namespace });
  const dependents = await Promise.all(
    Array.from({ length: 500 }, (_, at) => world.account(`dependent-${at}`, { namespace, owners: [owned(owner)] })),
  );
  const deleted = (): number => collecting.events.filter(({ type }) => type === 'deleted').length;
  await world.remove(owner);
  await until('the first to go', () => deleted() > 50 || undefined);
  const member = etcd.members[0];
  await member?.signal('SIGKILL');
  expect(deleted()).toBeLessThan(500);
  await member?.start();
  await untilGone(...dependents);
});
