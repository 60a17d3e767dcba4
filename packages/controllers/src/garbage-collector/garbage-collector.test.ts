import { callUntil } from '@cluster-apiserver/base';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { bytesOf, encodeProtobuf, encodeStored, type KubeObject, type OwnerReference } from '@cluster-apiserver/model';
import {
  CorruptValueError,
  memoryStore,
  type Revision,
  RevisionCompactedError,
  StorageUnavailableError,
} from '@cluster-apiserver/storage';
import { type DisturbedStore, disturbedStore } from '../../test/disturbed-store.ts';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { blocking, type Collecting, createWorld, owned, type World } from '../../test/world.ts';

const eventKeys = '/registry/events/';

let clock: FakeClock;
let store: DisturbedStore;
let memory: ReturnType<typeof memoryStore>;
let world: World;
let running: Collecting[];

beforeEach(() => {
  clock = fakeClock();
  // The store has a clock of its own: only the collector waits for the clock of the test.
  memory = memoryStore(fakeClock());
  store = disturbedStore(memory);
  world = createWorld({ store: memory, clock, call: () => callUntil(Number.POSITIVE_INFINITY) });
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map((one) => one.stop()));
  await world.close();
  memory.close();
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Nothing here waits for anything but its turn, so what does not come within so many turns never comes. */
const turnsMax = 20_000;

async function until(what: string, fact: () => Promise<boolean> | boolean): Promise<void> {
  for (let turns = 0; turns < turnsMax; turns++) {
    if (await fact()) return;
    await turn();
  }
  throw new Error(`never came: ${what}`);
}

/** Everything that follows from what happened so far, short of what waits for the clock, has happened. */
async function settled(): Promise<void> {
  for (let quietTurns = 0, seen = ''; quietTurns < 50; quietTurns++) {
    await turn();
    const now = JSON.stringify(store.asked);
    if (now !== seen) quietTurns = 0;
    seen = now;
  }
}

async function collect(): Promise<Collecting> {
  const collecting = world.collect(store);
  running.push(collecting);
  await until('the collector knows everything', () => collecting.synced);
  return collecting;
}

/** The watch cache pauses before it lists again. */
const watchLost = (): Promise<void> => until('the watch is lost', () => clock.waiting === 1);

const gone = async (...objects: KubeObject[]): Promise<boolean> =>
  (await Promise.all(objects.map((object) => world.read(object)))).every((object) => object === undefined);
const untilGone = (...objects: KubeObject[]): Promise<void> =>
  until(`the end of ${objects.map(({ metadata }) => metadata.name).join(', ')}`, () => gone(...objects));
const ownersOf = async (object: KubeObject): Promise<OwnerReference[] | undefined> =>
  (await world.read(object))?.metadata.ownerReferences;

const withoutFinalizers = (metadata: KubeObject['metadata']): KubeObject['metadata'] => ({
  ...metadata,
  finalizers: [],
});

test('an object that another server stored as protobuf is collected like any other', async () => {
  const owner = await world.account('owner');
  const dependent = await world.event('dependent', { owners: [owned(owner)] });
  const key = `${eventKeys}n/dependent`;
  const call = callUntil(Number.POSITIVE_INFINITY);
  const { stored } = await memory.get(key, call);
  const { schema } = world.events.kind;
  await memory.update(key, encodeProtobuf(schema, dependent as never), stored?.revision as Revision, {}, call);
  await collect();
  await world.remove(owner);
  await untilGone(dependent);
});

describe('in the background', () => {
  test('dependents of every kind are deleted with their owner, and no other objects', async () => {
    await collect();
    const [owner, other] = [await world.account('owner'), await world.account('other')];
    const follower = await world.account('follower', { owners: [owned(owner)] });
    const diary = await world.event('diary', { owners: [owned(owner)] });
    const stays = await world.event('stays', { owners: [owned(other)] });
    await world.remove(owner);
    await untilGone(follower, diary);
    await settled();
    expect(await gone(stays)).toBe(false);
    expect(await gone(other)).toBe(false);
  });

  test('a chain of dependents falls link by link', async () => {
    await collect();
    let last = await world.account('link-0');
    const chain = [last];
    for (let at = 1; at < 20; at++) chain.push((last = await world.account(`link-${at}`, { owners: [owned(last)] })));
    await world.remove(chain[0] as KubeObject);
    await untilGone(...chain);
  });

  test('a dependent with another owner only loses the reference to the absent one', async () => {
    await collect();
    const [one, other] = [await world.account('one'), await world.account('other')];
    const shared = await world.event('shared', { owners: [owned(one), owned(other)] });
    await world.remove(one);
    await until('the reference is gone', async () => (await ownersOf(shared))?.length === 1);
    const now = await world.read(shared);
    expect(now?.metadata.ownerReferences).toEqual([owned(other)]);
    expect(now?.metadata.managedFields?.map(({ manager }) => manager)).toEqual(['a-test']);
    await world.remove(other);
    await untilGone(shared);
  });

  test('dependents of a kind that is not served stay, because their owner may exist', async () => {
    await collect();
    const owner = await world.account('owner');
    const pod = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: '00000000-0000-4000-8000-000000000001' };
    const otherVersion = owned(owner, { apiVersion: 'v9' });
    const strangers = [await world.event('a', { owners: [pod] }), await world.account('b', { owners: [otherVersion] })];
    const mixed = await world.event('c', { owners: [pod, owned(owner)] });
    await world.remove(owner);
    await until('the reference is gone', async () => (await ownersOf(mixed))?.length === 1);
    await settled();
    expect(await ownersOf(mixed)).toEqual([pod]);
    for (const stranger of strangers) expect(await gone(stranger)).toBe(false);
  });

  const uid = '00000000-0000-4000-8000-000000000002';
  test.each<[what: string, reference: (there: KubeObject) => OwnerReference]>([
    ['never existed', (there) => owned(there, { name: 'nobody', uid })],
    ['was replaced by another of its name', (there) => owned(there, { uid })],
    ['has another name than the reference says', (there) => owned(there, { name: 'nobody' })],
    ['has a name that nothing can have', (there) => owned(there, { name: '../elsewhere/there' })],
    ['has a uid that no object can have', (there) => owned(there, { uid: `${there.metadata.uid}/x` })],
  ])('a dependent is deleted whose only owner %s, after a read barrier', async (_, reference) => {
    const there = await world.account('there');
    const dependent = await world.event('dependent', { owners: [reference(there)] });
    await collect();
    await untilGone(dependent);
    expect(await gone(there)).toBe(false);
    const later = await world.event('later', { owners: [reference(there)] });
    await untilGone(later);
  });

  test('of two references with one uid only the one to an absent owner is removed', async () => {
    const there = await world.account('there');
    const dependent = await world.event('dependent', { owners: [owned(there)] });
    const key = `${eventKeys}n/dependent`;
    const call = callUntil(Number.POSITIVE_INFINITY);
    const { stored } = await memory.get(key, call);
    const references = [owned(there), owned(there, { name: 'nobody' })];
    const both = { ...dependent, metadata: { ...dependent.metadata, ownerReferences: references } };
    await memory.update(key, bytesOf(encodeStored(both)), stored?.revision as Revision, {}, call);
    await collect();
    await until('one reference is gone', async () => (await ownersOf(dependent))?.length === 1);
    await settled();
    expect(await ownersOf(dependent)).toEqual([owned(there)]);
  });

  test('an owner in another namespace is no owner', async () => {
    await collect();
    const elsewhere = await world.account('owner', { namespace: 'elsewhere' });
    const dependent = await world.event('dependent', { owners: [owned(elsewhere)] });
    await untilGone(dependent);
    expect(await gone(elsewhere)).toBe(false);
  });

  test('dependents of the old owner go when one of the same name takes its place', async () => {
    await collect();
    const old = await world.account('owner');
    const [ofOld, releaseWatch] = [await world.event('of-old', { owners: [owned(old)] }), store.hold()];
    await world.remove(old);
    const young = await world.account('owner');
    const ofYoung = await world.event('of-young', { owners: [owned(young)] });
    releaseWatch();
    await untilGone(ofOld);
    await settled();
    expect(await gone(young, ofYoung)).toBe(false);
  });

  test('an owner whose creation is not in memory yet does not count as absent', async () => {
    const collecting = await collect();
    const releaseWatch = store.hold();
    const owner = await world.account('owner');
    const dependent = await world.event('dependent', { owners: [owned(owner)] });
    await settled();
    expect(await gone(dependent)).toBe(false);
    releaseWatch();
    await settled();
    expect(collecting.events.map(({ type }) => type)).toEqual(['synced']);
  });

  test('an owner that was deleted while no replica collected is found at the start', async () => {
    const owner = await world.account('owner');
    const dependent = await world.event('dependent', { owners: [owned(owner)] });
    const leaving = await world.account('leaving');
    const blocker = await world.event('blocker', { owners: [blocking(leaving)] });
    const kind = await world.account('kind');
    const orphan = await world.event('orphan', { owners: [owned(kind)] });
    await world.remove(owner);
    await world.remove(leaving, 'Foreground');
    await world.remove(kind, 'Orphan');
    await collect();
    await untilGone(dependent, leaving, blocker, kind);
    expect(await ownersOf(orphan)).toBeUndefined();
    expect(await gone(orphan)).toBe(false);
  });

  test('a dependent that its finalizers hold is marked once and then left to them', async () => {
    await collect();
    const owner = await world.account('owner');
    const held = await world.account('held', { owners: [owned(owner)], finalizers: ['example.org/hold'] });
    await world.remove(owner);
    await until('it is marked', async () => (await world.read(held))?.metadata.deletionTimestamp !== undefined);
    await settled();
    const { writes } = store.asked;
    await world.change(held, (metadata) => ({ ...metadata, labels: { touched: 'yes' } }));
    await settled();
    expect(store.asked.writes).toBe(writes);
    await world.change(held, withoutFinalizers);
    await untilGone(held);
  });

  test('a dependent with the orphan finalizer orphans its own dependents', async () => {
    await collect();
    const owner = await world.account('owner');
    const middle = await world.account('middle', { owners: [owned(owner)], finalizers: ['orphan'] });
    const leaf = await world.event('leaf', { owners: [owned(middle)] });
    await world.remove(owner);
    await untilGone(middle);
    await settled();
    expect(await gone(leaf)).toBe(false);
    expect(await ownersOf(leaf)).toBeUndefined();
  });
});

describe('in the foreground', () => {
  test('an owner waits for those that block it, however long these take', async () => {
    await collect();
    const owner = await world.account('owner');
    const held = await world.account('held', { owners: [blocking(owner)], finalizers: ['example.org/hold'] });
    const quick = await world.event('quick', { owners: [blocking(owner)] });
    await world.remove(owner, 'Foreground');
    await untilGone(quick);
    await settled();
    expect((await world.read(held))?.metadata.deletionTimestamp).toBeDefined();
    expect(await gone(owner)).toBe(false);
    await world.change(held, withoutFinalizers);
    await untilGone(held, owner);
  });

  test('a dependent that does not block is deleted too, but the owner does not wait for it', async () => {
    await collect();
    const owner = await world.account('owner');
    const idle = await world.account('idle', { owners: [owned(owner)], finalizers: ['example.org/hold'] });
    await world.remove(owner, 'Foreground');
    await untilGone(owner);
    await until('it is marked', async () => (await world.read(idle))?.metadata.deletionTimestamp !== undefined);
  });

  test('an owner without dependents is released at once, and finalizers of others stay', async () => {
    await collect();
    const lonely = await world.account('lonely');
    const held = await world.account('held', { finalizers: ['example.org/hold'] });
    await world.remove(lonely, 'Foreground');
    await world.remove(held, 'Foreground');
    await untilGone(lonely);
    await until('ours is gone', async () => (await world.read(held))?.metadata.finalizers?.length === 1);
    expect((await world.read(held))?.metadata.finalizers).toEqual(['example.org/hold']);
  });

  test('dependents of dependents go before those that they depend on', async () => {
    const top = await world.account('top');
    const middle = await world.account('middle', { owners: [blocking(top)] });
    const leaf = await world.account('leaf', { owners: [blocking(middle)], finalizers: ['example.org/hold'] });
    await collect();
    await world.remove(top, 'Foreground');
    await until('the middle waits too', async () =>
      Boolean((await world.read(middle))?.metadata.finalizers?.includes('foregroundDeletion')),
    );
    await settled();
    expect(await gone(top)).toBe(false);
    expect(await gone(middle)).toBe(false);
    await world.change(leaf, withoutFinalizers);
    await untilGone(leaf, middle, top);
  });

  test('a dependent that another owner still needs forgets the one that waits for it', async () => {
    await collect();
    const [leaving, other] = [await world.account('leaving'), await world.account('other')];
    const shared = await world.event('shared', { owners: [blocking(leaving), blocking(other)] });
    await world.remove(leaving, 'Foreground');
    await untilGone(leaving);
    expect(await ownersOf(shared)).toEqual([blocking(other)]);
  });

  test('an owner is released when its dependent no longer blocks', async () => {
    await collect();
    const owner = await world.account('owner');
    const held = await world.account('held', { owners: [blocking(owner)], finalizers: ['example.org/hold'] });
    await world.remove(owner, 'Foreground');
    await settled();
    expect(await gone(owner)).toBe(false);
    await world.change(held, (metadata) => ({ ...metadata, ownerReferences: [owned(owner)] }));
    await untilGone(owner);
    expect(await gone(held)).toBe(false);
  });

  test('an owner waits for a dependent that is not in memory yet', async () => {
    await collect();
    const releaseWatch = store.hold();
    const owner = await world.account('owner');
    const dependent = await world.event('dependent', { owners: [blocking(owner)], finalizers: ['example.org/hold'] });
    await world.remove(owner, 'Foreground');
    await settled();
    expect(await gone(owner)).toBe(false);
    releaseWatch();
    await until('it is marked', async () => (await world.read(dependent))?.metadata.deletionTimestamp !== undefined);
    await settled();
    expect(await gone(owner)).toBe(false);
    await world.change(dependent, withoutFinalizers);
    await untilGone(dependent, owner);
  });

  test('hundreds of owners that are deleted together share read barriers, and nothing is listed', async () => {
    const owners: KubeObject[] = [];
    for (let at = 0; at < 300; at++) owners.push(await world.account(`owner-${at}`));
    for (const owner of owners) await world.remove(owner, 'Foreground');
    await collect();
    await untilGone(...owners);
    // The watch cache has listed once.
    expect(store.asked.list).toBe(1);
    expect(store.asked.head).toBeLessThan(100);
  });
});

describe('owners in a circle', () => {
  /** An account for each name, of which each owns the next and the last owns the first. */
  async function circle(...names: string[]): Promise<KubeObject[]> {
    const members: KubeObject[] = [];
    for (const name of names) {
      const before = members.at(-1);
      members.push(await world.account(name, { owners: before ? [blocking(before)] : [] }));
    }
    const [first, last] = [members[0] as KubeObject, members.at(-1) as KubeObject];
    await world.change(first, (metadata) => ({ ...metadata, ownerReferences: [blocking(last)] }));
    return members;
  }

  const circles = [['self'], ['a', 'b'], ['a', 'b', 'c'], ['a', 'b', 'c', 'd', 'e', 'f', 'g']].map((names) => ({
    names,
  }));

  test.each(circles)('of $names.length end when one is deleted in the foreground', async ({ names }) => {
    await collect();
    const members = await circle(...names);
    await world.remove(members[0] as KubeObject, 'Foreground');
    await untilGone(...members);
  });

  test.each(circles)('of $names.length end when all are deleted in the foreground at once', async ({ names }) => {
    const members = await circle(...names);
    for (const member of members) await world.remove(member, 'Foreground');
    await collect();
    await untilGone(...members);
  });

  test.each(circles)('of $names.length end when one is deleted in the background', async ({ names }) => {
    await collect();
    const members = await circle(...names);
    await world.remove(members[0] as KubeObject);
    await untilGone(...members);
  });

  test.each(circles)('of $names.length break where one leaves its dependents behind', async ({ names }) => {
    await collect();
    const [first, ...others] = await circle(...names);
    await world.remove(first as KubeObject, 'Orphan');
    await untilGone(first as KubeObject);
    await settled();
    // The one behind it has no owner now, and the rest hang on that one.
    expect(await world.names(world.accounts)).toEqual(others.map(({ metadata }) => metadata.name));
  });

  test('still waits for a dependent outside of it', async () => {
    await collect();
    const members = await circle('a', 'b', 'c');
    const [first, second] = members as [KubeObject, KubeObject];
    const outside = await world.account('outside', { owners: [blocking(second)], finalizers: ['example.org/hold'] });
    await world.remove(first, 'Foreground');
    await settled();
    expect(await world.names(world.accounts)).toEqual(['a', 'b', 'c', 'outside']);
    await world.change(outside, withoutFinalizers);
    await untilGone(...members, outside);
  });

  test('stays while none of them is deleted', async () => {
    const members = await circle('a', 'b', 'c');
    const collecting = await collect();
    await settled();
    expect(collecting.events.map(({ type }) => type)).toEqual(['synced']);
    for (const member of members) expect(await gone(member)).toBe(false);
  });
});

describe('with its dependents orphaned', () => {
  test('an owner is released when all references to it are removed', async () => {
    await collect();
    const [owner, other] = [await world.account('owner'), await world.account('other')];
    const dependents = [
      await world.account('account', { owners: [blocking(owner)] }),
      await world.event('event', { owners: [owned(owner)] }),
    ];
    const shared = await world.event('shared', { owners: [owned(owner), owned(other)] });
    await world.remove(owner, 'Orphan');
    await untilGone(owner);
    await settled();
    for (const dependent of dependents) {
      expect(await gone(dependent)).toBe(false);
      expect(await ownersOf(dependent)).toBeUndefined();
    }
    expect(await ownersOf(shared)).toEqual([owned(other)]);
  });

  test('a dependent that was just created and is not in memory yet survives', async () => {
    await collect();
    const releaseWatch = store.hold();
    const owner = await world.account('owner');
    const dependent = await world.event('dependent', { owners: [owned(owner)] });
    await world.remove(owner, 'Orphan');
    await settled();
    expect(await gone(owner)).toBe(false);
    releaseWatch();
    await untilGone(owner);
    await settled();
    expect(await gone(dependent)).toBe(false);
    expect(await ownersOf(dependent)).toBeUndefined();
  });

  test('a dependent that is being deleted loses its reference too, so that the owner does not wait for it', async () => {
    await collect();
    const owner = await world.account('owner');
    const going = await world.account('going', { owners: [owned(owner)], finalizers: ['example.org/hold'] });
    await world.remove(going);
    await world.remove(owner, 'Orphan');
    await untilGone(owner);
    expect(await ownersOf(going)).toBeUndefined();
  });

  test('a dependent whose other owner is absent is not deleted', async () => {
    const [owner, lost] = [await world.account('owner'), await world.account('lost')];
    const dependent = await world.event('dependent', { owners: [owned(owner), owned(lost)] });
    await world.remove(lost);
    await world.remove(owner, 'Orphan');
    await collect();
    await untilGone(owner);
    await settled();
    expect(await gone(dependent)).toBe(false);
    expect(await ownersOf(dependent)).toBeUndefined();
  });

  test('hundreds of dependents forget it', async () => {
    await collect();
    const owner = await world.account('owner');
    for (let at = 0; at < 500; at++) await world.event(`event-${at}`, { owners: [owned(owner)] });
    await world.remove(owner, 'Orphan');
    await untilGone(owner);
    await settled();
    expect(await world.names(world.events)).toHaveLength(500);
  });
});

describe('hundreds of dependents of one owner', () => {
  test.each([
    ['Background', 0],
    ['Foreground', 0],
    ['Orphan', 500],
  ] as const)('cost one write each when it is deleted with the policy %s', async (policy, left) => {
    await collect();
    const owner = await world.account('owner');
    for (let at = 0; at < 500; at++) await world.event(`event-${at}`, { owners: [blocking(owner)] });
    await settled();
    const before = { ...store.asked };
    await world.remove(owner, policy);
    await untilGone(owner);
    await until('they follow', async () => (await world.names(world.events)).length === left);
    await settled();
    const { get, list, head, writes } = store.asked;
    expect(writes - before.writes).toBe(500 + (policy === 'Background' ? 0 : 1));
    expect(list - before.list).toBe(0);
    expect(get - before.get).toBe(0);
    expect(head - before.head).toBeLessThan(10);
  });

  test('are considered in slices, with requests in between', async () => {
    const owner = await world.account('owner');
    for (let at = 0; at < 1_000; at++) await world.event(`event-${at}`, { owners: [owned(owner)] });
    let soon = 0;
    const slow = {
      ...clock,
      // Each look at the clock finds that a millisecond has passed.
      monotonicMs: () => (clock.advance(1), clock.monotonicMs()),
      soon: (callback: () => void) => (soon++, clock.soon(callback)),
    };
    running.push(world.collect(store, slow));
    await until('the collector knows everything', () => running[0]?.synced === true);
    // One look at the clock every 64 objects, five milliseconds a slice; the pass itself begins with one.
    expect(soon).toBeGreaterThan(2);
  });
});

describe('beside other writers', () => {
  test('a dependent that gets a living owner at the last moment stays', async () => {
    await collect();
    const [owner, saviour] = [await world.account('owner'), await world.account('saviour')];
    const dependent = await world.event('dependent', { owners: [owned(owner)] });
    await settled();
    let saved = false;
    store.beforeWrite = async (verb) => {
      if (verb !== 'delete' || saved) return;
      saved = true;
      await world.change(dependent, (metadata) => ({ ...metadata, ownerReferences: [owned(owner), owned(saviour)] }));
    };
    await world.remove(owner);
    await until('it was saved', () => saved);
    await settled();
    clock.advance(1_000);
    await until('the reference is gone', async () => (await ownersOf(dependent))?.length === 1);
    expect(await ownersOf(dependent)).toEqual([owned(saviour)]);
  });

  test('a dependent that loses its living owner at the last moment is not left without any', async () => {
    await collect();
    const [owner, other] = [await world.account('owner'), await world.account('other')];
    const dependent = await world.event('dependent', { owners: [owned(owner), owned(other)] });
    await settled();
    let raced = false;
    store.beforeWrite = async (verb) => {
      if (verb !== 'update' || raced) return;
      raced = true;
      await world.change(dependent, (metadata) => ({ ...metadata, ownerReferences: [owned(owner)] }));
    };
    await world.remove(owner);
    await until('the other writer came first', () => raced);
    await settled();
    clock.advance(1_000);
    await untilGone(dependent);
  });

  test('a dependent that is written all the time is deleted in the end', async () => {
    const collecting = await collect();
    const owner = await world.account('owner');
    const dependent = await world.event('dependent', { owners: [owned(owner)] });
    let conflicts = 0;
    store.beforeWrite = async () => {
      if (conflicts === 5) return;
      conflicts++;
      await world.change(dependent, (metadata) => ({ ...metadata, labels: { try: `${conflicts}` } }));
    };
    await world.remove(owner);
    await until('it is gone', async () => {
      clock.advance(1_000);
      return gone(dependent);
    });
    expect(collecting.events.flatMap((event) => (event.type === 'failed' ? [event.tries] : []))).toEqual([
      1, 2, 3, 4, 5,
    ]);
  });

  test('another object that takes the name of a dependent just before it is deleted stays', async () => {
    await collect();
    const owner = await world.account('owner');
    const dependent = await world.event('dependent', { owners: [owned(owner)] });
    await settled();
    let young: KubeObject | undefined;
    store.beforeWrite = async () => {
      if (young) return;
      await world.remove(dependent);
      young = await world.event('dependent');
    };
    await world.remove(owner);
    await until('there is another', () => young !== undefined);
    await settled();
    clock.advance(60_000);
    await settled();
    expect(await gone(young as KubeObject)).toBe(false);
  });
});

describe('when something breaks', () => {
  test('changes during an interruption of the watch are found', async () => {
    await collect();
    const owner = await world.account('owner');
    const dependents = [
      await world.event('a', { owners: [owned(owner)] }),
      await world.account('b', { owners: [owned(owner)] }),
    ];
    const leaving = await world.account('leaving');
    const blocker = await world.event('blocker', { owners: [blocking(leaving)] });
    await settled();
    store.cut(new Error('cut'));
    await watchLost();
    await world.remove(owner);
    await world.remove(blocker);
    await world.remove(leaving, 'Foreground');
    await settled();
    expect(await gone(...dependents)).toBe(false);
    clock.advance(1_000);
    await untilGone(...dependents, leaving);
  });

  test('a watch of compacted history begins again', async () => {
    const collecting = await collect();
    const owner = await world.account('owner');
    const dependent = await world.event('dependent', { owners: [owned(owner)] });
    await settled();
    store.cut(new RevisionCompactedError(1 as never));
    await watchLost();
    await world.remove(owner);
    await world.account('owner');
    clock.advance(1_000);
    await untilGone(dependent);
    expect(collecting.events.filter(({ type }) => type === 'synced').length).toBeGreaterThan(1);
  });

  test('failing writes are retried with backoff, and succeed in the end', async () => {
    const collecting = await collect();
    const owner = await world.account('owner');
    const dependent = await world.event('dependent', { owners: [owned(owner)] });
    await settled();
    store.beforeWrite = () => {
      throw new StorageUnavailableError('no leader');
    };
    await world.remove(owner);
    await until('it was tried', () => store.asked.writes > 0);
    // An hour in steps of ten seconds.
    for (let step = 0; step < 360; step++) {
      clock.advance(10_000);
      await turn();
    }
    const failures = collecting.events.flatMap((event) => (event.type === 'failed' ? [event] : []));
    expect(failures.length).toBeGreaterThan(60);
    expect(failures.length).toBeLessThan(360);
    expect(clock.waiting).toBe(1);
    store.beforeWrite = () => {};
    await until('the end of the dependent', () => (clock.advance(1_000), gone(dependent)));
  });
});

describe('what cannot be read', () => {
  const keyOf = ({ kind, metadata: { namespace, name } }: KubeObject): string =>
    `/registry/${kind === 'Event' ? 'events' : 'serviceaccounts'}/${namespace}/${name}`;
  /** The replica reads everything again, as it does when the keys of an encryption change. */
  async function readAgain(): Promise<void> {
    store.cut(new Error('read again'));
    await watchLost();
    clock.advance(1_000);
  }

  test.each(['Foreground', 'Orphan'] as const)(
    'holds the owners in its namespace that are deleted with the policy %s, because it may depend on them',
    async (policy) => {
      const owner = await world.account('owner');
      const dependent = await world.event('dependent', { owners: [blocking(owner)] });
      const elsewhere = await world.account('elsewhere', { namespace: 'm' });
      const background = await world.account('background');
      const follower = await world.account('follower', { owners: [owned(background)] });
      const unlock = store.lock(keyOf(dependent));
      const collecting = await collect();
      await world.remove(owner, policy);
      await world.remove(elsewhere, policy);
      await world.remove(background);
      await untilGone(elsewhere, follower);
      await settled();
      expect(await gone(owner)).toBe(false);
      expect(collecting.measured.unreadable).toBe(1);
      expect(collecting.events).toContainEqual(
        expect.objectContaining({ type: 'unreadable', key: keyOf(dependent), cause: expect.any(CorruptValueError) }),
      );
      // It waits for a change and not for the clock.
      expect(clock.waiting).toBe(0);
      unlock();
      await readAgain();
      await untilGone(owner);
      expect(await gone(dependent)).toBe(policy === 'Foreground');
      expect(collecting.measured.unreadable).toBe(0);
    },
  );

  test('no longer holds an owner when it is removed', async () => {
    const owner = await world.account('owner');
    const locked = await world.event('locked');
    const unlock = store.lock(keyOf(locked));
    await collect();
    await world.remove(owner, 'Foreground');
    await settled();
    expect(await gone(owner)).toBe(false);
    unlock();
    await world.remove(locked);
    await untilGone(owner);
  });

  test('is an owner that counts as present', async () => {
    const [locked, lost] = [await world.account('locked'), await world.account('lost')];
    const dependent = await world.event('dependent', { owners: [owned(locked)] });
    const shared = await world.event('shared', { owners: [owned(locked), owned(lost)] });
    const other = await world.event('other', { owners: [owned(lost)] });
    const unlock = store.lock(keyOf(locked));
    await collect();
    await world.remove(lost);
    await untilGone(other);
    await until('the reference is gone', async () => (await ownersOf(shared))?.length === 1);
    expect(await gone(dependent)).toBe(false);
    unlock();
    await world.remove(locked);
    await untilGone(dependent, shared);
  });

  test('is reported a few times and then only counted', async () => {
    for (let at = 0; at < 30; at++) store.lock(keyOf(await world.event(`event-${at}`)));
    const collecting = await collect();
    expect(collecting.measured.unreadable).toBe(30);
    expect(collecting.events.filter(({ type }) => type === 'unreadable')).toHaveLength(10);
  });
});

describe('a term', () => {
  test('costs nothing while nothing happens', async () => {
    await world.account('owner');
    await world.event('event');
    await collect();
    await settled();
    const before = { ...store.asked };
    expect(clock.waiting).toBe(0);
    clock.advance(3_600_000);
    await settled();
    expect(store.asked).toEqual(before);
  });

  test('objects without owners are not looked at again when they change', async () => {
    await collect();
    const event = await world.event('event');
    const account = await world.account('account');
    await settled();
    const before = { ...store.asked };
    for (const object of [event, account])
      await world.change(object, (metadata) => ({ ...metadata, labels: { a: 'b' } }));
    await world.remove(event);
    await world.remove(account);
    await settled();
    expect(store.asked).toEqual(before);
  });

  test('that ends in the middle ends at once, and the next one does the rest', async () => {
    const collecting = await collect();
    const owner = await world.account('owner');
    for (let at = 0; at < 100; at++) await world.event(`event-${at}`, { owners: [owned(owner)] });
    await settled();
    let stopped: Promise<void> | undefined;
    store.beforeWrite = () => {
      if (store.asked.writes === 20) stopped = collecting.stop();
    };
    await world.remove(owner);
    await until('the end of the term', () => stopped !== undefined);
    await stopped;
    const left = (await world.names(world.events)).length;
    await settled();
    expect((await world.names(world.events)).length).toBe(left);
    expect(left).toBeGreaterThan(70);
    await collect();
    await until('all of them are gone', async () => (await world.names(world.events)).length === 0);
  });

  test('that ends while writes fail and watches are lost leaves no timers', async () => {
    const collecting = await collect();
    const owner = await world.account('owner');
    for (let at = 0; at < 10; at++) await world.account(`account-${at}`, { owners: [owned(owner)] });
    await settled();
    store.beforeWrite = () => {
      throw new StorageUnavailableError('no leader');
    };
    await world.remove(owner);
    await until('all have failed', () => collecting.events.filter(({ type }) => type === 'failed').length === 10);
    store.cut(new Error('cut'));
    await until('the watch is lost', () => clock.waiting === 10 + 1);
    expect(clock.waiting).toBe(10 + 1);
    await collecting.stop();
    expect(clock.waiting).toBe(0);
  });

  test('that is over before it begins does nothing', async () => {
    const owner = await world.account('owner');
    const dependent = await world.account('dependent', { owners: [owned(owner)] });
    await world.remove(owner);
    const before = { ...store.asked };
    const collecting = world.collect(store);
    await collecting.stop();
    await settled();
    expect(store.asked.writes).toBe(before.writes);
    expect(await gone(dependent)).toBe(false);
  });

  test('two at a time do no harm', async () => {
    await collect();
    await collect();
    const owner = await world.account('owner');
    const other = await world.account('other');
    const dependents: KubeObject[] = [];
    for (let at = 0; at < 50; at++)
      dependents.push(await world.account(`dependent-${at}`, { owners: [blocking(owner)] }));
    const shared = await world.event('shared', { owners: [blocking(owner), owned(other)] });
    await world.remove(owner, 'Foreground');
    await until('all are gone', async () => {
      clock.advance(1_000);
      return gone(owner, ...dependents);
    });
    expect(await ownersOf(shared)).toEqual([owned(other)]);
  });
});
