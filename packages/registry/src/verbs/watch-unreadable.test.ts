import { beforeEach, describe, expect, test } from '@jest/globals';
import { CorruptValueError, type Entry } from '@cluster-apiserver/storage';
import { deleteObject, get, list } from '../index.ts';
import { call, everything } from '../../test/use-robots.ts';
import { labelled, next, useWatchedRobots } from '../../test/use-watched-robots.ts';

const watched = useWatchedRobots();
const { begin, make, makeLarge, open, put, settled } = watched;

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
      { key: '/registry/robots/n/a', revision: 7 as never, unreadable, retry: () => Promise.reject(unreadable) },
      'n/a',
    );
    expect(item.unreadable).toBe(unreadable);
  });
});

describe('an object that cannot be read at present', () => {
  const keyUnavailable = new (class extends CorruptValueError {
    override readonly isPermanent = false;
  })(['/registry/robots/n/locked']);
  let locked: boolean;
  const seal = (entry: Entry): Entry =>
    locked && entry.key.endsWith('/locked')
      ? { key: entry.key, revision: entry.revision, unreadable: keyUnavailable, retry: async () => seal(entry) }
      : entry;

  /** Continues with a registry whose watch delivers these entries. */
  async function openWatching(entryOf: (entry: Entry) => Entry): Promise<void> {
    await watched.registry.cache.close();
    open({
      ...watched.memory,
      watch: async function* (...args) {
        for await (const { changes, ...set } of watched.memory.watch(...args))
          yield { ...set, changes: changes.map((one) => ({ ...one, current: one.current && entryOf(one.current) })) };
      },
    });
  }

  beforeEach(async () => {
    locked = true;
    await openWatching(seal);
  });

  test('delays only watchers that select it, and they get all events in order', async () => {
    const all = await begin();
    const others = await begin({ namespace: 'other' });
    await make('before');
    await make('locked');
    await make('after');
    await make('elsewhere', {}, 'other');
    expect(await next(all, 1)).toEqual(['ADDED before']);
    expect(await next(others, 1)).toEqual(['ADDED elsewhere']);
    watched.registry.retryUnreadable();
    await make('later');
    locked = false;
    watched.registry.retryUnreadable();
    expect(await next(all, 3)).toEqual(['ADDED locked', 'ADDED after', 'ADDED later']);
  });

  test('and never will be, because it was replaced before, ends the watches that it belongs to', async () => {
    const watching = await begin();
    await make('before');
    await make('locked');
    locked = false;
    await put('locked', { a: 'b' });
    await settled();
    expect(await next(watching, 1)).toEqual(['ADDED before']);
    expect(() => watching.take()).toThrow(expect.objectContaining({ reason: 'ServiceUnavailable' }));
  });

  test.each([
    ['replaced', () => put('locked', { a: 'b' }), 'MODIFIED'],
    ['deleted', () => deleteObject(watched.resource, 'locked', { namespace: 'n', dryRun: false }, call), 'DELETED'],
  ])('and was %s before the keys were repaired, is sent from then on', async (_, change, type) => {
    const since = String(await make('before'));
    await make('locked');
    const watching = await begin({ resourceVersion: since });
    await settled();
    expect(watching.take()).toBeUndefined();
    const woken = new Promise<void>((resolve) => watching.wait(resolve));
    // The value of the change stays as it was read.
    await change();
    await make('after');
    await settled();
    expect(() => watching.take()).toThrow(expect.objectContaining({ reason: 'ServiceUnavailable' }));
    locked = false;
    watched.registry.retryUnreadable();
    await woken;
    expect(await next(await begin({ resourceVersion: since }), 3)).toEqual([
      'ADDED locked',
      `${type} locked`,
      'ADDED after',
    ]);
  });

  test('and was replaced while it was read again, is sent from then on', async () => {
    const { promise: read, resolve: finish } = Promise.withResolvers<void>();
    await openWatching((entry) => {
      const { key, revision } = entry;
      return key.endsWith('/locked') && locked
        ? { key, revision, unreadable: keyUnavailable, retry: () => read.then(() => entry) }
        : entry;
    });
    const since = String(await make('before'));
    await make('locked');
    await settled();
    locked = false;
    watched.registry.retryUnreadable();
    await put('locked', { a: 'b' });
    finish();
    await settled();
    expect(await next(await begin({ resourceVersion: since }), 2)).toEqual(['ADDED locked', 'MODIFIED locked']);
  });

  test.each([
    ['replaced', () => put('locked', { a: 'b' })],
    ['deleted', () => deleteObject(watched.resource, 'locked', { namespace: 'n', dryRun: false }, call)],
  ])(
    'and is %s, ends watches that begin after it: their clients may know it from another replica',
    async (_, change) => {
      const since = await make('locked', { x: '1' });
      await settled();
      const ofLabel = { requirements: [{ key: 'x', operator: 'in' as const, values: ['1'] }] };
      const all = await begin({ resourceVersion: String(since) });
      const selected = await begin({ resourceVersion: String(since), labels: ofLabel });
      await make('after', { x: '1' });
      for (const watching of [all, selected]) {
        expect(await next(watching, 1)).toEqual(['ADDED after']);
        // From now on it gets only what its channel sends.
        expect(watching.take()).toBeUndefined();
      }
      locked = false;
      await change();
      await settled();
      for (const watching of [all, selected])
        expect(() => watching.take()).toThrow(expect.objectContaining({ reason: 'ServiceUnavailable' }));
    },
  );

  test('is sent in order when it is read late, even if it was replaced several times before', async () => {
    const reads: (() => void)[] = [];
    const late = (entry: Entry): Entry =>
      entry.key.endsWith('/locked')
        ? {
            key: entry.key,
            revision: entry.revision,
            unreadable: keyUnavailable,
            retry: async () => late(entry),
            pending: new Promise((resolve) => reads.push(() => resolve(entry))),
          }
        : entry;
    await openWatching(late);
    const [all, selected] = [await begin(), await begin({ labels: labelled('n') })];
    await make('locked', { n: '0' });
    await settled();
    await put('locked', { n: '1' });
    await put('locked', {});
    await make('after', { n: '0' });
    await settled();
    expect([all.take(), selected.take()]).toEqual([undefined, undefined]);
    expect(reads).toHaveLength(3);
    for (const read of reads.toReversed()) {
      read();
      await settled();
    }
    expect(await next(all, 4)).toEqual(['ADDED locked', 'MODIFIED locked', 'MODIFIED locked', 'ADDED after']);
    expect(await next(selected, 4)).toEqual(['ADDED locked', 'MODIFIED locked', 'DELETED locked', 'ADDED after']);
  });

  test.each([
    { how: 'by the decryption that took long', retried: false },
    { how: 'by a retry', retried: true },
  ])('and is refused for good $how, ends the watches that wait for it, and is named', async ({ retried }) => {
    const refusal = new CorruptValueError(['/registry/robots/n/locked'], { cause: new Error('the plugin refuses') });
    const refused = ({ key, revision }: Entry): Entry => {
      return { key, revision, unreadable: refusal, retry: () => Promise.reject(refusal) };
    };
    const { promise: decrypted, resolve: refuse } = Promise.withResolvers<void>();
    const late = (entry: Entry): Entry => {
      if (!entry.key.endsWith('/locked')) return entry;
      const { key, revision } = entry;
      const pending = decrypted.then(() => refused(entry));
      return { key, revision, unreadable: keyUnavailable, retry: async () => refused(entry), pending };
    };
    await openWatching(late);
    const getLocked = () => get(watched.resource, { namespace: 'n', name: 'locked' }, '0', call);
    const [all, others] = [await begin(), await begin({ namespace: 'other' })];
    await make('before');
    await make('locked');
    await settled();
    expect(await next(all, 1)).toEqual(['ADDED before']);
    expect(all.take()).toBeUndefined();
    expect(getLocked).toThrow(expect.objectContaining({ reason: 'ServiceUnavailable' }));
    const woken = new Promise<void>((resolve) => all.wait(resolve));
    if (retried) watched.registry.retryUnreadable();
    else refuse();
    await woken;
    const named = expect.objectContaining({ message: expect.stringContaining('/registry/robots/n/locked') });
    expect(() => all.take()).toThrow(named);
    expect(() => all.take()).toThrow(expect.objectContaining({ reason: 'StorageReadError' }));
    expect(getLocked).toThrow(named);
    expect(getLocked).toThrow(expect.objectContaining({ reason: 'InternalError' }));
    await make('elsewhere', {}, 'other');
    expect(await next(others, 1)).toEqual(['ADDED elsewhere']);
  });

  test('ends no beginning that it does not belong to when it can be read', async () => {
    await makeLarge('a', 40_000);
    await makeLarge('b', 40_000);
    await make('locked', {}, 'other');
    await settled();
    const watching = await begin();
    expect(await next(watching, 1)).toEqual(['ADDED a']);
    locked = false;
    watched.registry.retryUnreadable();
    await settled();
    expect(watched.resource.collection.get('other/locked')?.unreadable).toBeUndefined();
    expect(await next(watching, 1)).toEqual(['ADDED b']);
    expect(watching.end).toBeUndefined();
  });
});
