import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { kinds, namespace as namespaceKind } from '@cluster-apiserver/kinds';
import { decode, type KubeObject } from '@cluster-apiserver/model';
import {
  create,
  deleteObject,
  get,
  list,
  openRegistry,
  patch,
  type Registry,
  type Resource,
} from '@cluster-apiserver/registry';
import { memoryStore, type Store, StorageUnavailableError } from '@cluster-apiserver/storage';
import { type DisturbedStore, disturbedStore } from '../../test/disturbed-store.ts';
import { type HandClock, handClock } from '../../../base/test/hand-clock.ts';
import { emptyNamespaces, type NamespaceControllerEvent } from './empty-namespaces.ts';

let clock: HandClock;
let memory: ReturnType<typeof memoryStore>;
let store: DisturbedStore;
let registry: Registry;
let running: (() => Promise<void>)[];

const call = { deadlineMs: Number.POSITIVE_INFINITY };
const quiet = { dryRun: false, warn: () => {} };

beforeEach(() => {
  clock = handClock();
  memory = memoryStore(handClock());
  store = disturbedStore(memory);
  registry = openRegistry({
    kinds: kinds({ eventLifetimeSeconds: 3_600 }),
    store: memory,
    keyPrefix: '/registry',
    clock,
    random: seededRandom(1),
    report: () => {},
  });
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((stop) => stop()));
  await registry.cache.close();
  memory.close();
});

const resourceOf = (plural: string): Resource =>
  registry.resources.find(({ kind }) => kind.plural === plural) as Resource;

async function make(plural: string, name: string, namespace?: string, metadata: object = {}): Promise<KubeObject> {
  const resource = resourceOf(plural);
  const about = plural === 'events' && { involvedObject: { namespace } };
  const { kind, apiVersion, schema } = resource.kind;
  const draft = decode(schema, { kind, apiVersion, ...about, metadata: { name, ...metadata } }, () => {});
  return (await create(resource, draft as KubeObject, { namespace, manager: 'a-test', ...quiet }, call)).object;
}
const remove = (name: string): Promise<unknown> =>
  deleteObject(resourceOf('namespaces'), name, { namespace: undefined, dryRun: false }, call);
const read = (plural: string, name: string, namespace?: string): Promise<KubeObject | undefined> =>
  get(resourceOf(plural), { namespace, name }, undefined, call).then(
    ({ object }) => object,
    () => undefined,
  );
async function names(plural: string): Promise<string[]> {
  const selection = { namespace: undefined, labels: undefined, fields: undefined };
  const options = { resourceVersion: undefined, resourceVersionMatch: undefined, limit: undefined };
  const more = { continue: undefined, sendInitialEvents: undefined };
  const { items } = await list(resourceOf(plural), { ...selection, ...options, ...more }, call);
  return items.map((item) => `${item.namespace}/${item.name}`);
}

/** Begins a term over this store. */
function work(through: Store = store): NamespaceControllerEvent[] {
  const told: NamespaceControllerEvent[] = [];
  const term = new AbortController();
  const resources = registry.resources.map((resource) => ({ ...resource, store: through }));
  const options = { resources, clock, random: seededRandom(2), signal: term.signal };
  const ended = emptyNamespaces({ ...options, report: (event) => void told.push(event) });
  running.push(() => {
    term.abort(new Error('the term is over'));
    return ended;
  });
  return told;
}

async function until(what: string, fact: () => Promise<boolean> | boolean): Promise<void> {
  for (let turns = 0; turns < 20_000; turns++) {
    if (await fact()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never came: ${what}`);
}
const gone = (name: string): Promise<void> =>
  until(`${name} is gone`, async () => (await read('namespaces', name)) === undefined);

describe('a namespace that is deleted', () => {
  test('is emptied of every kind and then gone, and others keep what they have', async () => {
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
    const told = work();
    await make('namespaces', 'a');
    await make('serviceaccounts', 's', 'a');
    await remove('a');
    await gone('a');
    expect(told).toEqual([{ type: 'emptied', namespace: 'a' }]);
    expect(await names('serviceaccounts')).toEqual([]);
  });

  test('stays while something in it is held, says so, and is looked at again', async () => {
    await make('namespaces', 'a');
    await make('serviceaccounts', 'held', 'a', { finalizers: ['example.com/x', 'example.com/y'] });
    await make('serviceaccounts', 'held-too', 'a', { finalizers: ['example.com/x'] });
    await remove('a');
    const told = work();
    await until('it is held', () => told.some(({ type }) => type === 'held'));
    const { status } = (await read('namespaces', 'a')) as { status?: { conditions?: { message?: string }[] } };
    expect(status?.conditions?.map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        'Some resources are remaining: serviceaccounts. has 2 resource instances',
        expect.stringContaining('example.com/x in 2 resource instances, example.com/y in 1 resource instances'),
      ]),
    );
    const before = await read('namespaces', 'a');
    clock.advance(60_000);
    await until('it is looked at again', () => told.filter(({ type }) => type === 'held').length > 1);
    // Nothing is new, so nothing is written.
    expect(await read('namespaces', 'a')).toEqual(before);
    for (const name of ['held', 'held-too']) {
      const change = ({ metadata, ...rest }: KubeObject) => ({ ...rest, metadata: { ...metadata, finalizers: [] } });
      const options = { namespace: 'a', manager: 'a-test', change, unknownFields: () => {}, ...quiet };
      await patch(resourceOf('serviceaccounts'), name, options, call);
    }
    await until('it is looked at again', () => (clock.advance(60_000), told.some(({ type }) => type === 'emptied')));
    await gone('a');
  });

  test('is not mistaken for a later one of its name, however late a term is', async () => {
    await make('namespaces', 'a');
    await make('serviceaccounts', 'old', 'a');
    await remove('a');
    // This term has seen the namespace on its way out and stands still before it looks inside.
    const looked = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const late: Store = {
      ...store,
      list: async (range, within) => {
        if (range.prefix.endsWith('/a/')) {
          looked.resolve();
          await goOn.promise;
        }
        return store.list(range, within);
      },
    };
    const told = work(late);
    await looked.promise;
    work();
    await gone('a');
    await make('namespaces', 'a');
    await make('serviceaccounts', 'new', 'a');
    goOn.resolve();
    await until('the late term is through', () => told.length > 0);
    expect(await names('serviceaccounts')).toEqual(['a/new']);
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
    const told = work();
    await until('it fails', () => told.some(({ type }) => type === 'failed'));
    await (running.pop() as () => Promise<void>)();
    expect(clock.waiting).toBe(0);
    store.beforeWrite = () => {};
    work();
    await gone('a');
    expect(await names('serviceaccounts')).toEqual([]);
  });

  test('waits for whoever else holds it, and is not looked into again', async () => {
    await make('namespaces', 'a', undefined, { finalizers: ['example.com/x'] });
    await remove('a');
    const told = work();
    await until('it is let go', () => told.length > 0);
    expect(await read('namespaces', 'a')).toMatchObject({ spec: {}, status: { phase: 'Terminating' } });
    expect(told).toEqual([{ type: 'emptied', namespace: 'a' }]);
  });
});

test('a server without namespaces has nothing to empty', async () => {
  const resources = registry.resources.filter(({ kind }) => kind !== namespaceKind);
  const { signal } = new AbortController();
  await emptyNamespaces({ resources, clock, random: seededRandom(1), signal, report: () => {} });
});
