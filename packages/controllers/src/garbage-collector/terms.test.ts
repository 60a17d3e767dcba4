import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { StorageUnavailableError } from '@cluster-apiserver/storage';
import { clock, collect, gone, ownersOf, settled, store, world } from '../../test/collector.ts';
import { until } from '../../test/turns.ts';
import { blocking, owned } from '../../test/world.ts';

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
