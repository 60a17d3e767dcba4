import { callUntil } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { bytesOf, encodeProtobuf, encodeStored } from '@cluster-apiserver/model/codec';
import type { KubeObject, OwnerReference } from '@cluster-apiserver/model/kind';
import type { Revision } from '@cluster-apiserver/storage';
import {
  clock,
  collect,
  gone,
  memory,
  ownersOf,
  running,
  settled,
  store,
  untilGone,
  withoutFinalizers,
  world,
} from '../../test/collector.ts';
import { until } from '../../test/turns.ts';
import { blocking, owned } from '../../test/world.ts';

const eventKeys = '/registry/events/';

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
