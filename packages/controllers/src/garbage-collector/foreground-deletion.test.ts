import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { collect, gone, ownersOf, settled, store, untilGone, withoutFinalizers, world } from '../../test/collector.ts';
import { until } from '../../test/turns.ts';
import { blocking, owned } from '../../test/world.ts';

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
    // The watch cache has listed each kind once.
    expect(store.asked.list).toBe(world.resources.length);
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
