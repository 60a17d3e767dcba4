import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { namespaceKind } from '@cluster-apiserver/kinds';
import { encodeProtobuf } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Registry } from '@cluster-apiserver/registry';
import { fixedApi } from '../../../registry/test/fixed-api.ts';
import { type Revision, type FollowedStore, StorageUnavailableError } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { type DisturbedStore, disturbedStore } from '../../test/disturbed-store.ts';
import {
  changeObject,
  createObject,
  listObjects,
  openTestRegistry,
  readObject,
  removeObject,
  resourceIn,
  untimed,
} from '../../test/objects.ts';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { beginTerm, type Term } from '../../test/term.ts';
import { quietTurns, until } from '../../test/turns.ts';
import { drainNamespaces } from './namespace-controller.ts';

let clock: FakeClock;
let memory: ReturnType<typeof memoryStore>;
let store: DisturbedStore;
let registry: Registry;
let running: (() => Promise<void>)[];

beforeEach(() => {
  clock = fakeClock();
  memory = memoryStore(fakeClock());
  store = disturbedStore(memory);
  registry = open(memory);
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((stop) => stop()));
  await registry.cache.close();
  memory.close();
});

const open = (through: FollowedStore): Registry => openTestRegistry(through, clock);

function make(plural: string, name: string, namespace?: string, metadata: object = {}): Promise<KubeObject> {
  const about = plural === 'events' && { involvedObject: { namespace } };
  return createObject(resourceIn(registry, plural), { namespace, name }, { ...about, metadata });
}
const remove = (name: string): Promise<void> => removeObject(resourceIn(registry, 'namespaces'), { name });
const read = (plural: string, name: string, namespace?: string): Promise<KubeObject | undefined> =>
  readObject(resourceIn(registry, plural), { namespace, name });
async function names(plural: string): Promise<string[]> {
  const objects = await listObjects(resourceIn(registry, plural));
  return objects.map(({ metadata: { namespace = '', name } }) => `${namespace}/${name}`);
}

/** Begins a term of a replica that works on this store. */
function work(through: FollowedStore = store): Term {
  const replica = open(through);
  const term = beginTerm(drainNamespaces, { api: replica.api, clock });
  running.push(async () => {
    await term.stop();
    await replica.cache.close();
  });
  return term;
}

async function conditionMessages(name: string): Promise<(string | undefined)[]> {
  const { status } = (await read('namespaces', name)) as { status?: { conditions?: { message?: string }[] } };
  return status?.conditions?.map(({ message }) => message) ?? [];
}
const release = (plural: string, name: string, namespace: string): Promise<void> =>
  changeObject(resourceIn(registry, plural), { namespace, name }, ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, finalizers: [] },
  }));
const gone = (name: string): Promise<void> =>
  until(`${name} is gone`, async () => (await read('namespaces', name)) === undefined);

describe('a namespace that is deleted', () => {
  test('is emptied of every kind and removed, and other namespaces keep their content', async () => {
    for (const namespace of ['a', 'a-not']) {
      await make('namespaces', namespace);
      for (let at = 0; at < 20; at++) {
        await make('serviceaccounts', `s${at}`, namespace);
        await make('events', `e${at}`, namespace);
      }
    }
    await remove('a');
    work();
    await gone('a');
    expect(await names('serviceaccounts')).toHaveLength(20);
    expect(await names('events')).toHaveLength(20);
    expect(await names('namespaces')).toEqual(['/a-not']);
  });

  test('is emptied whether it was deleted before the term or in it', async () => {
    const { events } = work();
    await make('namespaces', 'a');
    await make('serviceaccounts', 's', 'a');
    await remove('a');
    await gone('a');
    expect(events).toEqual([{ type: 'finalized', namespace: 'a' }]);
    expect(await names('serviceaccounts')).toEqual([]);
  });

  test('is drained if another server stored it as protobuf', async () => {
    await make('namespaces', 'a');
    await make('serviceaccounts', 's', 'a');
    await remove('a');
    const key = '/registry/namespaces/a';
    const { stored } = await memory.get(key, untimed);
    const { schema } = namespaceKind;
    const value = encodeProtobuf(schema, (await read('namespaces', 'a')) as never);
    await memory.update(key, value, stored?.revision as Revision, {}, untimed);
    work();
    await gone('a');
    expect(await names('serviceaccounts')).toEqual([]);
  });

  test('stays while objects in it have finalizers, with a condition, and is removed afterwards', async () => {
    await make('namespaces', 'a');
    await make('serviceaccounts', 'held', 'a', { finalizers: ['example.com/x', 'example.com/y'] });
    await make('serviceaccounts', 'held-too', 'a', { finalizers: ['example.com/x'] });
    await remove('a');
    const { events } = work();
    await until('it is held', () => events.some(({ type }) => type === 'held'));
    expect(await conditionMessages('a')).toEqual(
      expect.arrayContaining([
        'Some resources are remaining: serviceaccounts. has 2 resource instances',
        expect.stringContaining('example.com/x in 2 resource instances, example.com/y in 1 resource instances'),
      ]),
    );
    await release('serviceaccounts', 'held', 'a');
    await until('it is counted again', () => (clock.advance(1_000), events.length > 1));
    await until('the conditions follow', async () =>
      (await conditionMessages('a')).includes(
        'Some resources are remaining: serviceaccounts. has 1 resource instances',
      ),
    );
    await release('serviceaccounts', 'held-too', 'a');
    await gone('a');
  });

  test('is left alone while nothing in it changes', async () => {
    await make('namespaces', 'a');
    for (let at = 0; at < 50; at++) await make('serviceaccounts', `s${at}`, 'a', { finalizers: ['example.com/x'] });
    await remove('a');
    const { events } = work();
    await until('it is held', () => events.some(({ type }) => type === 'held'));
    // The deletions come back by the watch, and are counted once more.
    await until('it is counted again', () => (clock.advance(5_000), events.length === 2));
    await quietTurns();
    const [before, asked] = [await read('namespaces', 'a'), { ...store.asked }];
    expect(asked.writes).toBe(51);
    for (let minutes = 0; minutes < 60; minutes++) {
      clock.advance(60_000);
      await quietTurns();
    }
    expect(store.asked).toEqual(asked);
    expect(events).toHaveLength(2);
    expect(await read('namespaces', 'a')).toEqual(before);
  });

  test.each(['foregroundDeletion', 'orphan'])('does not wait for the finalizer %s inside of it', async (finalizer) => {
    await make('namespaces', 'a');
    await make('serviceaccounts', 's', 'a', { finalizers: [finalizer] });
    await removeObject(resourceIn(registry, 'serviceaccounts'), { namespace: 'a', name: 's' });
    expect(await names('serviceaccounts')).toEqual(['a/s']);
    await remove('a');
    work();
    await gone('a');
  });

  test('is not mistaken for a later one of its name by a stale leader', async () => {
    await make('namespaces', 'a');
    await make('serviceaccounts', 'old', 'a');
    await remove('a');
    // This term has seen the namespace Terminating and stands still before it deletes what is inside.
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const standStill = async (): Promise<void> => {
      begun.resolve();
      await goOn.promise;
    };
    const late: FollowedStore = {
      ...store,
      delete: async (...args) => (await standStill(), store.delete(...args)),
      update: async (...args) => (await standStill(), store.update(...args)),
    };
    const { events } = work(late);
    await begun.promise;
    work();
    await gone('a');
    await make('namespaces', 'a');
    await make('serviceaccounts', 'old', 'a');
    goOn.resolve();
    await until('the late term is through', () => events.length > 0);
    await quietTurns();
    expect(await names('serviceaccounts')).toEqual(['a/old']);
    expect(await read('namespaces', 'a')).toMatchObject({ spec: { finalizers: ['kubernetes'] } });
  });

  test('is emptied once by two terms at a time', async () => {
    await make('namespaces', 'a');
    for (let at = 0; at < 20; at++) await make('serviceaccounts', `s${at}`, 'a');
    await remove('a');
    work();
    work();
    await gone('a');
    expect(await names('serviceaccounts')).toEqual([]);
  });

  test('is emptied by the next term when one is cut off half-way', async () => {
    await make('namespaces', 'a');
    for (let at = 0; at < 20; at++) await make('serviceaccounts', `s${at}`, 'a');
    await remove('a');
    let writes = 0;
    store.beforeWrite = () => {
      if (++writes > 5) throw new StorageUnavailableError('no leader');
    };
    const { events } = work();
    await until('it fails', () => events.some(({ type }) => type === 'failed'));
    await (running.pop() as () => Promise<void>)();
    expect(clock.waiting).toBe(0);
    store.beforeWrite = () => {};
    work();
    await gone('a');
    expect(await names('serviceaccounts')).toEqual([]);
  });

  test('is emptied in the end when deletions fail for a while, with a condition meanwhile', async () => {
    await make('namespaces', 'a');
    for (let at = 0; at < 20; at++) await make('serviceaccounts', `s${at}`, 'a');
    await remove('a');
    store.beforeWrite = (verb) => {
      if (verb === 'delete') throw new StorageUnavailableError('no leader');
    };
    const { events } = work();
    await until('it fails', () => events.some(({ type }) => type === 'failed'));
    expect(await conditionMessages('a')).toEqual(
      expect.arrayContaining([expect.stringMatching(/^Failed to delete all resource types, 1 remaining: serviceacc/)]),
    );
    // The storage is left alone after a few failures.
    expect(store.asked.writes).toBeLessThan(20);
    store.beforeWrite = () => {};
    await until('it is emptied', async () => (clock.advance(1_000), (await read('namespaces', 'a')) === undefined));
  });

  test('waits for finalizers of others, and is not drained again', async () => {
    await make('namespaces', 'a', undefined, { finalizers: ['example.com/x'] });
    await remove('a');
    const { events } = work();
    await until('it is finalized', () => events.length > 0);
    expect(await read('namespaces', 'a')).toMatchObject({ spec: {}, status: { phase: 'Terminating' } });
    await quietTurns();
    expect(events).toEqual([{ type: 'finalized', namespace: 'a' }]);
  });

  test('is drained although its watch was lost when it was deleted', async () => {
    await make('namespaces', 'a');
    await make('serviceaccounts', 's', 'a');
    work();
    await quietTurns();
    store.cut(new Error('cut'));
    await until('the watch is lost', () => clock.waiting === 1);
    await remove('a');
    clock.advance(1_000);
    await gone('a');
  });
});

describe('what cannot be read', () => {
  test('in a namespace holds only that namespace, with a condition', async () => {
    for (const namespace of ['a', 'b']) {
      await make('namespaces', namespace);
      await make('serviceaccounts', 's', namespace);
      await make('serviceaccounts', 'locked', namespace);
      await remove(namespace);
    }
    const unlock = store.lock('/registry/serviceaccounts/a/locked');
    const { events } = work();
    await gone('b');
    await until('it is held', () => events.some(({ type }) => type === 'held'));
    expect(await names('serviceaccounts')).toEqual(['a/locked']);
    expect(await conditionMessages('a')).toEqual(
      expect.arrayContaining([
        'Failed to delete all resource types, 1 remaining: serviceaccounts.: 1 stored objects cannot be read',
      ]),
    );
    unlock();
    store.cut(new Error('read again'));
    await until('it is emptied', async () => (clock.advance(1_000), (await read('namespaces', 'a')) === undefined));
  });

  test('is a namespace that is not drained before it can be read, and the others are', async () => {
    for (const namespace of ['a', 'b']) {
      await make('namespaces', namespace);
      await make('serviceaccounts', 's', namespace);
      await remove(namespace);
    }
    const unlock = store.lock('/registry/namespaces/a');
    const { events, measured } = work();
    await gone('b');
    expect(events).toContainEqual(expect.objectContaining({ type: 'unreadable', namespace: 'a' }));
    expect(measured.unreadable).toBe(1);
    unlock();
    store.cut(new Error('read again'));
    await until('it is emptied', async () => (clock.advance(1_000), (await read('namespaces', 'a')) === undefined));
    expect(measured.unreadable).toBe(0);
  });
});

test('a server without namespaces has nothing to drain', async () => {
  const api = fixedApi(registry.api.resources.filter(({ kind }) => kind !== namespaceKind));
  await beginTerm(drainNamespaces, { api, clock }).ended;
});
