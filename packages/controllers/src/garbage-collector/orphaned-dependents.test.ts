import { callUntil } from '@cluster-apiserver/base';
import { describe, expect, test } from '@jest/globals';
import { bytesOf, encodeStored } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { collect, gone, memory, ownersOf, settled, store, untilGone, world } from '../../test/collector.ts';
import { blocking, owned } from '../../test/world.ts';

const tooManyLabels = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`k${i}`, '']));

/** Changes an account as a server without bounds would. */
async function addTooManyLabels(account: KubeObject): Promise<void> {
  const call = callUntil(Number.POSITIVE_INFINITY);
  const key = `/registry/serviceaccounts/n/${account.metadata.name}`;
  const { stored } = await memory.get(key, call);
  if (!stored) throw new Error(`${key} is absent`);
  const labelled = { ...account, metadata: { ...account.metadata, labels: tooManyLabels } };
  await memory.update(key, bytesOf(encodeStored(labelled)), stored.revision, {}, call);
}

describe('with its dependents orphaned', () => {
  test('an owner and a dependent with more labels than this server accepts are released', async () => {
    const owner = await world.account('owner');
    const dependent = await world.account('dependent', { owners: [owned(owner)] });
    await addTooManyLabels(owner);
    await addTooManyLabels(dependent);
    await world.remove(owner, 'Orphan');
    await collect();
    await untilGone(owner);
    expect(await ownersOf(dependent)).toBeUndefined();
    expect(Object.keys((await world.read(dependent))?.metadata.labels ?? {})).toHaveLength(1_001);
  });

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
