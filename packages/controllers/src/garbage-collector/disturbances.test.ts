import { describe, expect, test } from '@jest/globals';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import {
  CorruptValueError,
  KeyUnavailableError,
  RevisionCompactedError,
  StorageUnavailableError,
} from '@cluster-apiserver/storage';
import { clock, collect, gone, ownersOf, settled, store, untilGone, watchLost, world } from '../../test/collector.ts';
import { turn, until } from '../../test/turns.ts';
import { blocking, owned } from '../../test/world.ts';

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
        expect.objectContaining({ type: 'unreadable', key: keyOf(dependent), error: expect.any(CorruptValueError) }),
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

  test('because a key is unavailable makes its whole kind wait, and nothing is lost or deleted too much', async () => {
    const owner = await world.account('owner');
    const lost = await world.account('lost');
    const dependent = await world.event('dependent', { owners: [owned(owner)] });
    const abandoned = await world.event('abandoned', { owners: [owned(lost)] });
    const collecting = await collect();
    const locked = await world.account('locked-later');
    const unlock = store.lock(keyOf(locked), new KeyUnavailableError('no key'));
    await world.change(locked, (metadata) => ({ ...metadata, labels: { a: 'b' } }));
    await settled();
    await world.remove(lost);
    // Its owner is of the kind that is not served.
    await world.change(dependent, (metadata) => ({ ...metadata, labels: { a: 'b' } }));
    await settled();
    expect(await gone(dependent)).toBe(false);
    expect(await gone(abandoned)).toBe(false);
    unlock();
    await until('the collection again', async () => (clock.advance(1_000), gone(abandoned)));
    expect(await gone(dependent)).toBe(false);
    await world.remove(owner);
    await untilGone(dependent);
    expect(collecting.events.filter(({ type }) => type === 'failed')).toEqual([]);
  });

  test('is reported a few times and then only counted', async () => {
    for (let at = 0; at < 30; at++) store.lock(keyOf(await world.event(`event-${at}`)));
    const collecting = await collect();
    expect(collecting.measured.unreadable).toBe(30);
    expect(collecting.events.filter(({ type }) => type === 'unreadable')).toHaveLength(10);
  });
});
