import { beforeEach, describe, expect, test } from '@jest/globals';
import { CorruptValueError, type Entry, KeyUnavailableError, revision } from '@cluster-apiserver/storage';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { get, list } from '../index.ts';
import { call, everything } from '../../test/use-robots.ts';
import { labelled, next, useWatchedRobots } from '../../test/use-watched-robots.ts';

const watched = useWatchedRobots();
const { begin, make, open, settled } = watched;

describe('an object that cannot be read', () => {
  const spoil = (name: string) =>
    watched.memory.create(`/registry/robots/n/${name}`, Buffer.from('{"kind":"Robot"}'), {}, call);
  const listed = (more: object = {}) => list(watched.resource, { ...everything, ...more }, call);

  test('fails the lists it might belong to, and names its key', async () => {
    await make('a', { x: '1' });
    await spoil('bad');
    for (const more of [{}, { labels: labelled('x') }, { namespace: undefined }])
      await expect(listed(more)).rejects.toThrow('/registry/robots/n/bad');
    expect((await listed({ namespace: 'm' })).items).toEqual([]);
  });

  test('ends a watch after the events before it, and names its key', async () => {
    const watching = await begin({ resourceVersion: String(await make('a')) });
    await make('b');
    expect(await next(watching, 1)).toEqual(['ADDED b']);
    await spoil('bad');
    await settled();
    expect(() => watching.take()).toThrow('/registry/robots/n/bad');
  });

  test('is replaced by one that can be read, and then it is as if it had been new', async () => {
    const spoiled = await spoil('a');
    await settled();
    const watching = await begin({ resourceVersion: String(spoiled) });
    const good = Buffer.from('{"kind":"Robot","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u"}}');
    await watched.memory.update('/registry/robots/n/a', good, spoiled, {}, call);
    expect(await next(watching, 1)).toEqual(['ADDED a']);
    expect((await listed()).items).toHaveLength(1);
  });

  test('is not hidden by a transformer that refuses it', () => {
    const unreadable = new CorruptValueError(['/registry/robots/n/a']);
    const item = watched.resource.collection.descriptor.read(
      { key: '/registry/robots/n/a', revision: 7 as never, unreadable },
      'n/a',
    );
    expect(item.unreadable).toBe(unreadable);
  });
});

describe('an object whose key this replica does not have', () => {
  const foreign = (entry: Entry): Entry =>
    entry.key.endsWith('/foreign')
      ? { key: entry.key, revision: entry.revision, unreadable: new CorruptValueError([entry.key]) }
      : entry;

  beforeEach(async () => {
    await watched.registry.cache.close();
    open({
      ...watched.memory,
      watch: async function* (...args) {
        for await (const { changes, ...set } of watched.memory.watch(...args))
          yield { ...set, changes: changes.map((one) => ({ ...one, current: one.current && foreign(one.current) })) };
      },
    });
  });

  test.each(['missed', 'followed'])(
    'is removed: a watch that has %s it ends, as its client may know it from another replica',
    async (how) => {
      await make('foreign');
      await settled();
      const { revision: at } = await watched.memory.get('/registry/robots/n/foreign', call);
      const early = how === 'followed' ? await begin({ resourceVersion: String(at) }) : undefined;
      await watched.memory.delete('/registry/robots/n/foreign', revision(at), call);
      await settled();
      const watching = early ?? (await begin({ resourceVersion: String(at) }));
      await expect(next(watching, 1)).rejects.toThrow('/registry/robots/n/foreign');
    },
  );
});

describe('an object whose key is unavailable at present', () => {
  let locked: boolean;
  const seal = (entry: Entry): Entry =>
    locked && entry.key.endsWith('/locked')
      ? {
          key: entry.key,
          revision: entry.revision,
          unreadable: new CorruptValueError([entry.key], { cause: new KeyUnavailableError('no key') }),
        }
      : entry;
  const unavailable = expect.objectContaining({
    reason: 'ServiceUnavailable',
    message: expect.stringContaining('does not provide the key of /registry/robots/n/locked'),
  });
  const getObject = (name: string) => get(watched.resource, { namespace: 'n', name }, '0', call);
  const repair = async (): Promise<void> => {
    locked = false;
    watched.registry.retryUnreadable();
    await untilTurned(() => watched.resource.collection.isReady);
  };

  beforeEach(async () => {
    locked = true;
    await watched.registry.cache.close();
    open({
      ...watched.memory,
      list: async (...args) => {
        const { entries, ...page } = await watched.memory.list(...args);
        return { ...page, entries: entries.map(seal) };
      },
      watch: async function* (...args) {
        for await (const { changes, ...set } of watched.memory.watch(...args))
          yield {
            ...set,
            changes: changes.map(({ key, previous, current }) => ({
              key,
              previous: previous && seal(previous),
              current: current && seal(current),
            })),
          };
      },
    });
  });

  test('ends all watches of its kind, and fails reads and new watches of it, with the reason', async () => {
    const [all, others] = [await begin(), await begin({ namespace: 'other' })];
    await make('before');
    expect(await next(all, 1)).toEqual(['ADDED before']);
    await make('locked');
    await settled();
    for (const watching of [all, others]) expect(() => watching.take()).toThrow(unavailable);
    expect(() => getObject('before')).toThrow(unavailable);
    await expect(list(watched.resource, everything, call)).rejects.toThrow(unavailable);
    await expect(begin({ resourceVersion: '1' })).rejects.toThrow(unavailable);
  });

  test('wakes the watches that wait', async () => {
    const watching = await begin();
    expect(watching.take()).toBeUndefined();
    const woken = new Promise<void>((resolve) => watching.wait(resolve));
    await make('locked');
    await woken;
    expect(() => watching.take()).toThrow(unavailable);
  });

  test('is served with all others when the key is back, and a watch resumes without a gap', async () => {
    const since = await make('before');
    await make('locked');
    await make('after');
    await settled();
    await repair();
    await make('later');
    await settled();
    expect((await list(watched.resource, everything, call)).items.map(({ name }) => name)).toEqual([
      'after',
      'before',
      'later',
      'locked',
    ]);
    const resumed = await begin({ resourceVersion: String(since) });
    expect(await next(resumed, 3)).toEqual(['ADDED locked', 'ADDED after', 'ADDED later']);
  });

  test('and was replaced or deleted meanwhile, is sent from then on', async () => {
    const since = String(await make('before'));
    await make('locked');
    await settled();
    const { stored } = await watched.memory.get('/registry/robots/n/locked', call);
    if (!stored) throw new Error('it was made');
    const replaced = await watched.memory.update(stored.key, stored.value, stored.revision, {}, call);
    await watched.memory.delete(stored.key, replaced, call);
    await repair();
    const resumed = await begin({ resourceVersion: since });
    expect(await next(resumed, 3)).toEqual(['ADDED locked', 'MODIFIED locked', 'DELETED locked']);
  });

  test('ends a watch that reads it from the history', async () => {
    const since = String(await make('before'));
    await make('locked');
    await settled();
    await repair();
    locked = true;
    const resumed = await begin({ resourceVersion: since });
    const error = await next(resumed, 1).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: 'ServiceUnavailable' });
  });
});
