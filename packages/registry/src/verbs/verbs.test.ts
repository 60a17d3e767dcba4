import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { toSyncTask, callUntil, type Clock, systemClock } from '@cluster-apiserver/base';
import {
  boolean,
  decode,
  defineKind,
  deleteOptions,
  jsonField,
  type Integer,
  type Kind,
  type KubeObject,
  list as listOf,
  objectReference,
  parseJson,
  readApplied,
  type StatusError,
  string,
} from '@cluster-apiserver/model';
import { memoryStore, StorageUnavailableError, type Store } from '@cluster-apiserver/storage';
import {
  apply,
  create,
  type DeleteOptions,
  deleteCollection,
  deleteObject,
  get,
  list,
  type ListOptions,
  type Outcome,
  patch,
  type Registry,
  update,
  type Resource,
  type WatchReader,
  type WatchEvent,
  watch,
} from '../index.ts';
import { openTestRegistry } from '../../test/open-test-registry.ts';

/** As a body brings it. */
const beyond53 = (digits: string): Integer =>
  (
    decode(deleteOptions, parseJson(`{"gracePeriodSeconds":${digits}}`).value, () => {}) as {
      gracePeriodSeconds: Integer;
    }
  ).gracePeriodSeconds;

const kind: Kind = defineKind({
  group: 'test.example',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  description: 'For these tests.',
  fields: {
    words: jsonField(listOf(string, 'atomic'), ''),
    parts: jsonField(listOf(objectReference, { key: 'name' }), ''),
    awake: jsonField(boolean, '', 'given'),
  },
  deletedAnswer: 'object',
});

let wallMs: number;
const clock: Clock = { ...systemClock, now: () => wallMs };
const call = callUntil(Number.POSITIVE_INFINITY);
let memory: ReturnType<typeof memoryStore>;
let resource: Resource;
let registry: Registry;
let warnings: string[];

beforeEach(() => {
  wallMs = Date.UTC(2026, 0, 1);
  warnings = [];
  memory = memoryStore(clock);
  open(memory);
});
afterEach(() => registry.cache.close());

/** One that remembers nothing of what was before it. */
async function anotherReplica(): Promise<void> {
  await registry.cache.close();
  open(resource.store);
}

function open(store: Store): void {
  registry = openTestRegistry(kind, store, clock);
  resource = registry.resources[0] as Resource;
}

const robot = (metadata: object, fields: object = {}): KubeObject =>
  decode(kind.schema, { kind: 'Robot', apiVersion: 'test.example/v1', metadata, ...fields }, () => {});
const options = { namespace: 'n', dryRun: false, manager: 'm', warn: (text: string) => warnings.push(text) };
const make = (metadata: object, fields?: object): Promise<Outcome> =>
  create(resource, robot(metadata, fields), options, call);
const put = (name: string, metadata: object, fields?: object) =>
  update(resource, name, robot({ name, ...metadata }, fields), options, call);
const read = (name: string): Promise<Outcome> => get(resource, { namespace: 'n', name }, undefined, call);
const remove = (name: string, more: Partial<DeleteOptions> = {}) =>
  deleteObject(resource, name, { namespace: 'n', dryRun: false, ...more }, call);
const everything = {
  namespace: 'n',
  labels: undefined,
  fields: undefined,
  resourceVersion: undefined,
  resourceVersionMatch: undefined,
  limit: undefined,
  continue: undefined,
  sendInitialEvents: undefined,
};
const unconditional = {
  ...everything,
  resourceVersion: undefined,
  resourceVersionMatch: undefined,
  sendInitialEvents: undefined,
  allowWatchBookmarks: false,
};
/** The next `count` events of a watch. */
async function eventsOf(watching: WatchReader, count: number): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  while (events.length < count) {
    const batch = watching.take();
    if (batch) events.push(...batch.events);
    else await new Promise<void>((resolve) => watching.wait(resolve));
  }
  return events;
}
const failing = async (verb: Promise<unknown>): Promise<StatusError> =>
  verb.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: StatusError) => error,
  );
/** A store in which something happens just before the first write. */
const raced = (store: Store, before: () => Promise<unknown>): Store => {
  let done = false;
  const first = async (): Promise<void> => {
    if (done) return;
    done = true;
    await before();
  };
  return {
    get: (...args) => store.get(...args),
    list: (...args) => store.list(...args),
    watch: (...args) => store.watch(...args),
    readLatestRevision: (...args) => store.readLatestRevision(...args),
    requestProgress: () => store.requestProgress(),
    restartWatches: () => store.restartWatches(),
    get historyNumber() {
      return store.historyNumber;
    },
    onHistoryReplaced: (listener) => store.onHistoryReplaced(listener),
    create: async (...args) => (await first(), store.create(...args)),
    update: async (...args) => (await first(), store.update(...args)),
    delete: async (...args) => (await first(), store.delete(...args)),
  };
};

describe('create', () => {
  test('gives identity, owner and version, and what a read gives is the same bytes', async () => {
    const made = await make({ name: 'a', uid: 'mine', creationTimestamp: '2001-01-01T00:00:00Z', labels: { x: 'y' } });
    const json = JSON.parse(made.json);
    expect(json.metadata).toMatchObject({
      name: 'a',
      namespace: 'n',
      creationTimestamp: '2026-01-01T00:00:00Z',
      resourceVersion: String(made.revision),
    });
    expect(json.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(json.metadata.managedFields).toHaveLength(1);
    expect((await read('a')).json).toBe(made.json);
  });

  test('a stored object has its fields in the order of the schema', async () => {
    const made = await make({ labels: { x: 'y' }, generateName: 'r-' }, { words: ['w'] });
    expect(JSON.stringify(decode(kind.schema, JSON.parse(made.json), () => {}))).toBe(made.json);
  });

  test('reports all errors at once', async () => {
    const error = await failing(make({ name: 'Bad_Name', labels: { '-': 'v' }, finalizers: ['nodomain'] }));
    expect(error.reason).toBe('Invalid');
    expect(error.details?.causes?.map(({ field: at }) => at)).toEqual([
      'metadata.name',
      'metadata.labels',
      'metadata.finalizers[0]',
    ]);
    expect(error.details).toMatchObject({ group: 'test.example', kind: 'Robot', name: 'Bad_Name' });
  });

  test('a generated name that is taken is followed by another', async () => {
    const names = [0, 0, 1].values();
    resource = {
      ...resource,
      random: {
        below: () => names.next().value ?? 1,
        uuid: () => '11111111-2222-4333-8444-555555555555',
        bytes: Buffer.alloc,
      },
    };
    const taken = await make({ name: 'r-bbbbb' });
    const made = await make({ generateName: 'r-' });
    expect(made.object.metadata.name).not.toBe(taken.object.metadata.name);
  });

  test('gives up when every generated name is taken, with a Retry-After', async () => {
    resource = { ...resource, random: { ...resource.random, below: () => 0 } };
    await make({ generateName: 'r-' });
    const error = await failing(make({ generateName: 'r-' }));
    expect(error).toMatchObject({ reason: 'AlreadyExists', retryAfterSeconds: 1 });
  });

  test('a dry run writes nothing and still finds a taken name', async () => {
    const tried = await create(resource, robot({ name: 'a' }), { ...options, dryRun: true }, call);
    expect(tried.revision).toBeUndefined();
    expect((await failing(read('a'))).reason).toBe('NotFound');
    await make({ name: 'a' });
    expect((await failing(create(resource, robot({ name: 'a' }), { ...options, dryRun: true }, call))).reason).toBe(
      'AlreadyExists',
    );
  });

  test('of two that create the same name at the same time one wins', async () => {
    const results = await Promise.allSettled([make({ name: 'a' }), make({ name: 'a' }), make({ name: 'a' })]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test.each(['..', '.', 'a/b', 'a%b', ''])('the namespace %j is refused and touches no key', async (namespace) => {
    expect((await failing(create(resource, robot({ name: 'a' }), { ...options, namespace }, call))).code).toBeLessThan(
      500,
    );
    expect((await resource.store.list({ prefix: '/' }, call)).entries).toEqual([]);
  });
});

describe('replace', () => {
  test('drops what is not in the body and keeps identity', async () => {
    const made = await make({ name: 'a', labels: { x: '1' } }, { awake: true });
    const { outcome, created } = await put('a', { labels: { y: '2' } });
    expect(created).toBe(false);
    expect(outcome.object).toMatchObject({
      metadata: {
        uid: made.object.metadata.uid,
        labels: { y: '2' },
        creationTimestamp: made.object.metadata.creationTimestamp,
      },
    });
    expect(outcome.object.awake).toBeUndefined();
  });

  test('that changes nothing writes nothing, though the time is another', async () => {
    const made = await make({ name: 'a', labels: { x: '1' } });
    wallMs += 60_000;
    const { outcome } = await put('a', { labels: { x: '1' } });
    expect(outcome.revision).toBe(made.revision);
    expect(outcome.json).toBe(made.json);
  });

  test('of a version that is no longer the newest is refused, and a missing version overwrites', async () => {
    const made = await make({ name: 'a' });
    await put('a', { labels: { v: '1' } });
    const error = await failing(put('a', { resourceVersion: String(made.revision), labels: { v: '2' } }));
    expect(error).toMatchObject({ reason: 'Conflict', details: { name: 'a', group: 'test.example', kind: 'robots' } });
    await put('a', { labels: { v: '3' } });
    expect((await read('a')).object.metadata.labels).toEqual({ v: '3' });
  });

  test('without a resourceVersion survives a concurrent write; with one it is a conflict', async () => {
    const made = await make({ name: 'a' });
    const store = resource.store;
    const inner = { ...resource };
    const meanwhile = (): Promise<unknown> =>
      update(inner, 'a', robot({ name: 'a', labels: { other: 'x' } }), options, call);
    resource = { ...resource, store: raced(store, meanwhile) };
    await put('a', { labels: { mine: 'y' } });
    expect((await read('a')).object.metadata.labels).toEqual({ mine: 'y' });
    const now = await read('a');
    resource = { ...resource, store: raced(store, meanwhile) };
    expect((await failing(put('a', { resourceVersion: String(now.revision), labels: { mine: 'z' } }))).reason).toBe(
      'Conflict',
    );
    expect(made.revision).not.toBe(now.revision);
  });

  test('an object deleted in between is not made anew', async () => {
    await make({ name: 'a' });
    const inner = { ...resource };
    resource = {
      ...resource,
      store: raced(resource.store, () => deleteObject(inner, 'a', { namespace: 'n', dryRun: false }, call)),
    };
    expect((await failing(put('a', { labels: { x: 'y' } }))).reason).toBe('NotFound');
  });

  test('fifty writers at once lose nothing', async () => {
    await make({ name: 'a' });
    const add = (i: number) =>
      patch(
        resource,
        'a',
        {
          ...options,
          unknownFields: () => {},
          change: toSyncTask((current) => ({
            ...current,
            words: [...((current as { words?: string[] }).words ?? []), `w${i}`],
          })),
        },
        call,
      );
    await Promise.all(Array.from({ length: 50 }, (_, i) => add(i)));
    expect(new Set((await read('a')).object.words as string[]).size).toBe(50);
  });

  test('removes the object with its last finalizer, and responds with the requested state', async () => {
    await make({ name: 'a', finalizers: ['e.x/hold'] });
    await remove('a');
    const held = await read('a');
    const { outcome, removed } = await put('a', { labels: { bye: '1' } });
    expect(removed).toBe(true);
    expect(outcome.revision).toBe(held.revision);
    expect(outcome.object.metadata).toMatchObject({ labels: { bye: '1' }, deletionGracePeriodSeconds: 0 });
    expect((await failing(read('a'))).reason).toBe('NotFound');
  });

  test.each([
    ['resourceVersion', { resourceVersion: 'abc' }, 'BadRequest'],
    ['name', { name: 'b' }, 'BadRequest'],
    ['namespace', { namespace: 'm' }, 'BadRequest'],
    ['uid', { uid: '11111111-2222-4333-8444-555555555555' }, 'Conflict'],
    ['deletionTimestamp', { deletionTimestamp: '2031-01-01T00:00:00Z' }, 'Invalid'],
  ])('a wrong %s is refused and changes nothing', async (_, metadata, reason) => {
    const made = await make({ name: 'a' });
    expect((await failing(update(resource, 'a', robot({ name: 'a', ...metadata }), options, call))).reason).toBe(
      reason,
    );
    expect((await read('a')).revision).toBe(made.revision);
  });
});

describe('delete', () => {
  test('answers with the object at the revision of the deletion', async () => {
    const made = await make({ name: 'a' });
    const { answer, gone } = await remove('a');
    expect(gone).toBe(true);
    expect((answer as Outcome).revision).toBeGreaterThan(made.revision as number);
    expect((await failing(remove('a'))).reason).toBe('NotFound');
  });

  test('is held by finalizers, is not begun twice, and counts the generation once', async () => {
    await make({ name: 'a', finalizers: ['e.x/hold'], generation: 4 });
    expect((await remove('a')).gone).toBe(false);
    const held = await read('a');
    expect(held.object.metadata).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 0,
      generation: 5,
    });
    wallMs += 5000;
    await remove('a');
    expect((await read('a')).revision).toBe(held.revision);
  });

  test.each<[string, Partial<DeleteOptions>, string[], string[]]>([
    ['Orphan', { propagationPolicy: 'Orphan' }, [], ['orphan']],
    ['Foreground', { propagationPolicy: 'Foreground' }, ['orphan'], ['foregroundDeletion']],
    ['orphanDependents', { orphanDependents: true }, [], ['orphan']],
    ['nothing said', {}, ['foregroundDeletion'], ['foregroundDeletion']],
    ['orphanDependents=false', { orphanDependents: false }, ['e.x/hold', 'orphan'], ['e.x/hold']],
  ])('%s decides which finalizers stand', async (_, more, before, after) => {
    await make({ name: 'a', finalizers: before });
    await remove('a', more);
    expect((await read('a')).object.metadata.finalizers).toEqual(after);
  });

  test('Background removes an object that waited for its dependents', async () => {
    await make({ name: 'a', finalizers: ['orphan'] });
    expect((await remove('a', { propagationPolicy: 'Background' })).gone).toBe(true);
  });

  test.each<[string, Partial<DeleteOptions>, string]>([
    ['another uid', { preconditions: { uid: 'x' } }, 'Conflict'],
    ['another version', { preconditions: { resourceVersion: '1' } }, 'Conflict'],
    ['an unknown policy', { propagationPolicy: 'Sideways' }, 'Invalid'],
    ['two policies', { propagationPolicy: 'Orphan', orphanDependents: false }, 'Invalid'],
    ['a negative grace period', { gracePeriodSeconds: -1 }, 'Invalid'],
    ['the most negative grace period', { gracePeriodSeconds: beyond53('-9223372036854775808') }, 'Invalid'],
  ])('with %s deletes nothing', async (_, more, reason) => {
    await make({ name: 'other' });
    const made = await make({ name: 'a' });
    expect((await failing(remove('a', more))).reason).toBe(reason);
    expect((await read('a')).revision).toBe(made.revision);
  });

  test('with a grace period beyond 2^53 deletes', async () => {
    await make({ name: 'a' });
    expect((await remove('a', { gracePeriodSeconds: beyond53('9223372036854775807') })).gone).toBe(true);
  });

  test('with a resourceVersion as precondition fails after a concurrent write', async () => {
    const made = await make({ name: 'a' });
    const inner = { ...resource };
    resource = {
      ...resource,
      store: raced(resource.store, () => update(inner, 'a', robot({ name: 'a', labels: { x: 'y' } }), options, call)),
    };
    expect((await failing(remove('a', { preconditions: { resourceVersion: String(made.revision) } }))).reason).toBe(
      'Conflict',
    );
  });

  test('of a collection keeps other namespaces, and objects with finalizers', async () => {
    await Promise.all(['a', 'b', 'c'].map((name) => make({ name })));
    await make({ name: 'held', finalizers: ['e.x/hold'] });
    await create(resource, robot({ name: 'a' }), { ...options, namespace: 'n2' }, call);
    await deleteCollection(resource, { list: everything, delete: { dryRun: false }, workers: 3 }, call);
    const left = await list(resource, { ...everything, namespace: undefined }, call);
    expect(left.items.map(({ object: { metadata } }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
      'n/held',
      'n2/a',
    ]);
  });
});

describe('a list in chunks', () => {
  const chunk = (more: Partial<ListOptions>) => list(resource, { ...everything, ...more }, call);
  const namesOf = ({ items }: { items: readonly Outcome[] }) => items.map(({ object: { metadata } }) => metadata.name);

  test('shows one snapshot, whatever is written between the chunks', async () => {
    for (const name of ['a', 'c', 'e']) await make({ name });
    const first = await chunk({ limit: 1 });
    expect(first).toMatchObject({ remainingItemCount: 2 });
    await make({ name: 'b' });
    await remove('c');
    const rest = await chunk({ limit: 9, continue: first.continue });
    expect([...namesOf(first), ...namesOf(rest)]).toEqual(['a', 'c', 'e']);
    expect(rest).toMatchObject({ revision: first.revision });
    expect(rest.continue).toBeUndefined();
  });

  test('is filled with selected objects, however far apart', async () => {
    for (let i = 0; i < 1200; i++)
      await make({ name: `r${String(i).padStart(4, '0')}`, ...(i % 599 === 0 && { labels: { x: 'y' } }) });
    const labels = { requirements: [{ key: 'x', operator: 'exists' as const, values: [] }] };
    const first = await chunk({ limit: 2, labels });
    expect(namesOf(first)).toEqual(['r0000', 'r0599']);
    expect(first.remainingItemCount).toBeUndefined();
    const rest = await chunk({ limit: 2, labels, continue: first.continue });
    expect(namesOf(rest)).toEqual(['r1198']);
  });

  describe('of a past state that memory no longer holds', () => {
    let pageLimits: (number | undefined)[];
    beforeEach(() => {
      pageLimits = [];
      const { collection } = resource;
      const listFromStore = collection.listFromStore.bind(collection);
      jest.spyOn(collection, 'viewAt').mockResolvedValue(undefined);
      jest.spyOn(collection, 'listFromStore').mockImplementation((range, ...rest) => {
        pageLimits.push(range.limit);
        return listFromStore(range, ...rest);
      });
    });
    const past = (more: Partial<ListOptions>, { revision }: { revision?: number | undefined }) =>
      chunk({ resourceVersion: String(revision), resourceVersionMatch: 'Exact', ...more });

    test('reads larger and larger pages while the selector finds nothing', async () => {
      for (let i = 0; i < 1_600; i++) await make({ name: `r${String(i).padStart(4, '0')}` });
      const last = await make({ name: 'z', labels: { x: 'y' } });
      const labels = { requirements: [{ key: 'x', operator: 'exists' as const, values: [] }] };
      expect(namesOf(await past({ limit: 2, labels }, last))).toEqual(['z']);
      expect(pageLimits).toEqual([500, 1_000, 2_000]);
    });

    test('does not fail for an unreadable object after it', async () => {
      for (const name of ['a', 'b']) await make({ name });
      await memory.create(`${resource.collection.descriptor.prefix}n/y`, Buffer.from('[1]'), {}, call);
      const last = await make({ name: 'z' });
      const fields = { terms: [{ field: 'metadata.name', equal: false, value: 'a' }] };
      expect(namesOf(await past({ limit: 1, fields }, last))).toEqual(['b']);
      expect(await failing(past({ limit: 2, fields }, last))).toMatchObject({ reason: 'StorageReadError' });
      expect(await failing(past({}, last))).toMatchObject({ reason: 'StorageReadError' });
    });
  });

  test('cannot be led out of its range by a token', async () => {
    await create(resource, robot({ name: 'secret' }), { ...options, namespace: 'm' }, call);
    await make({ name: 'a' });
    const tokenOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const start of ['../m/', '/../m/secret', '\0', 'a', 'zzz', '..', '', 7, null, {}]) {
      for (const rv of [-1, 1, 0, 1e300, '1', undefined]) {
        const answer = await chunk({ continue: tokenOf({ v: 'meta.k8s.io/v1', rv, start }) }).catch(
          (error: StatusError) => error,
        );
        if (answer instanceof Error) expect([400, 410, 504]).toContain(answer.code);
        else expect(namesOf(answer)).not.toContain('secret');
      }
    }
    for (const token of ['not-a-token', '%%%', tokenOf(null), tokenOf([]), tokenOf({ v: 'v0', rv: 1, start: 'a' })]) {
      expect((await failing(chunk({ continue: token }))).reason).toBe('BadRequest');
    }
  });

  test('of a compacted snapshot is Expired, with a token for the rest at the latest revision', async () => {
    for (const name of ['a', 'b', 'd']) await make({ name });
    const first = await chunk({ limit: 1 });
    const { revision } = await make({ name: 'c' });
    memory.compact(revision as NonNullable<typeof revision>);
    await anotherReplica();
    const error = await failing(chunk({ limit: 1, continue: first.continue }));
    expect(error).toMatchObject({ reason: 'Expired', code: 410 });
    const { metadata } = error.toStatus();
    expect(namesOf(await chunk({ continue: metadata.continue }))).toEqual(['b', 'c', 'd']);
  });

  test('ends all workers when one of them fails, before the failure is answered', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `r-${at}`);
    for (const name of names) await make({ name });
    let deletions = 0;
    const failing: Resource = {
      ...resource,
      store: {
        ...resource.store,
        delete: async (...args) => {
          const nth = ++deletions;
          await new Promise((resolve) => setImmediate(resolve));
          if (nth === 2) throw new StorageUnavailableError('no leader');
          return resource.store.delete(...args);
        },
      },
    };
    const deletion = { list: everything, delete: { dryRun: false }, workers: 4 };
    await expect(deleteCollection(failing, deletion, call)).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
    const afterAnswer = deletions;
    expect(afterAnswer).toBeLessThan(10);
    for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(deletions).toBe(afterAnswer);
  });

  test('limits a deletion of the collection', async () => {
    for (const name of ['a', 'b', 'c']) await make({ name });
    await deleteCollection(
      resource,
      { list: { ...everything, limit: 2 }, delete: { dryRun: false }, workers: 2 },
      call,
    );
    expect(namesOf(await chunk({}))).toEqual(['c']);
  });
});

describe('apply', () => {
  const applyAs = (manager: string, metadata: object, fields: object = {}, more: object = {}) =>
    apply(
      resource,
      'a',
      readApplied(kind.schema, { kind: 'Robot', apiVersion: 'test.example/v1', metadata, ...fields }, () => {}),
      { ...options, manager, force: false, ...more },
      call,
    );

  test('creates an absent object, and the same again changes nothing, not even a time', async () => {
    const first = await applyAs('one', { name: 'a', labels: { x: '1' }, resourceVersion: '7' });
    expect(first.created).toBe(true);
    wallMs += 60_000;
    const again = await applyAs('one', { name: 'a', labels: { x: '1' } });
    expect(again).toMatchObject({ created: false, outcome: { revision: first.outcome.revision } });
    expect(again.outcome.object).toEqual(first.outcome.object);
    const more = await applyAs('two', { name: 'a', labels: { x: '1' } });
    expect(more.outcome.object.metadata.managedFields?.map(({ manager, time }) => [manager, time])).toEqual([
      ['one', '2026-01-01T00:00:00Z'],
      ['two', '2026-01-01T00:01:00Z'],
    ]);
  });

  test('of an object that is created concurrently updates it', async () => {
    const inner = { ...resource };
    resource = {
      ...resource,
      store: raced(resource.store, () => create(inner, robot({ name: 'a', labels: { y: '2' } }), options, call)),
    };
    const { created, outcome } = await applyAs('one', { name: 'a', labels: { x: '1' } });
    expect(created).toBe(false);
    expect(outcome.object.metadata.labels).toEqual({ x: '1', y: '2' });
  });

  test('is refused with every conflict, unless it is forced', async () => {
    await applyAs('one', { name: 'a', labels: { x: '1' } }, { awake: true });
    const error = await failing(applyAs('two', { name: 'a', labels: { x: '2' } }, { awake: false }));
    expect(error).toMatchObject({ reason: 'Conflict', code: 409 });
    expect(error.toStatus().details).toEqual({
      causes: [
        { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.awake' },
        { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.metadata.labels.x' },
      ],
    });
    const { outcome } = await applyAs('two', { name: 'a', labels: { x: '2' } }, {}, { force: true });
    expect(outcome.object).toMatchObject({ metadata: { labels: { x: '2' } }, awake: true });
  });

  test('stores nothing in a dry run', async () => {
    expect(await applyAs('one', { name: 'a' }, {}, { dryRun: true })).toMatchObject({ created: true });
    expect((await failing(read('a'))).reason).toBe('NotFound');
  });

  test.each<[string, object, number]>([
    ['another name', { name: 'b' }, 400],
    ['another namespace', { name: 'a', namespace: 'other' }, 400],
    ['another uid', { name: 'a', uid: 'other' }, 422],
    ['an old version', { name: 'a', resourceVersion: '1' }, 409],
    ['a label that is none', { name: 'a', labels: { x: '-' } }, 422],
  ])('is refused with %s', async (_, metadata, code) => {
    const { outcome } = await (await make({ name: 'z' }), applyAs('one', { name: 'a' }));
    expect((await failing(applyAs('one', metadata))).code).toBe(code);
    expect((await read('a')).revision).toBe(outcome.revision);
  });

  test('creates nothing without a name, nor for a client that means a certain object', async () => {
    expect((await failing(applyAs('one', {}))).reason).toBe('BadRequest');
    expect((await failing(applyAs('one', { name: 'a', uid: 'u' }))).reason).toBe('Conflict');
  });

  test('of a stored object with entries without a key is an error that names them', async () => {
    await make({ name: 'a' }, { parts: [{}] });
    expect((await failing(applyAs('one', { name: 'a', labels: { x: '1' } }))).code).toBe(422);
  });

  test('takes the last finalizer of a deleted object away, and so the object', async () => {
    await applyAs('one', { name: 'a', finalizers: ['e/f'] });
    await remove('a');
    expect((await applyAs('one', { name: 'a' })).removed).toBe(true);
    expect((await failing(read('a'))).reason).toBe('NotFound');
  });

  test('by fifty managers at once applies all configurations', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, i) => applyAs(`m${i}`, { name: 'a', labels: { [`l${i}`]: '' } })));
    const { metadata } = (await read('a')).object;
    expect(Object.keys(metadata.labels ?? {})).toHaveLength(50);
    expect(metadata.managedFields).toHaveLength(50);
  });
});

describe('list and watch', () => {
  test('a namespace that begins like another is another', async () => {
    await make({ name: 'a' });
    await create(resource, robot({ name: 'b' }), { ...options, namespace: 'n-x' }, call);
    expect((await list(resource, everything, call)).items).toHaveLength(1);
    expect(
      (await list(resource, { ...everything, namespace: undefined }, call)).items.map(
        (item) => item.object.metadata.name,
      ),
    ).toEqual(['b', 'a']);
  });

  test('an exact version shows the past, a future one is not there yet', async () => {
    const made = await make({ name: 'a' });
    await make({ name: 'b' });
    const then = await list(
      resource,
      { ...everything, resourceVersion: String(made.revision), resourceVersionMatch: 'Exact' },
      call,
    );
    expect(then).toMatchObject({ revision: made.revision });
    expect(then.items).toHaveLength(1);
    const error = await failing(list(resource, { ...everything, resourceVersion: '99999' }, call));
    expect(error).toMatchObject({ reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } });
  });

  test('a watch with a selector gets objects that begin to match as ADDED and those that cease to as DELETED', async () => {
    const start = await list(resource, everything, call);
    const inView = { requirements: [{ key: 'v', operator: 'in', values: ['1'] }] } as const;
    const watching = await watch(
      resource,
      { ...unconditional, labels: inView, resourceVersion: String(start.revision) },
      call,
    );
    await make({ name: 'a' });
    await put('a', { labels: { v: '1' } });
    await put('a', { labels: { v: '1', more: '' } });
    await put('a', { labels: { v: '2' } });
    await make({ name: 'b', labels: { v: '1' } });
    await remove('b');
    const seen = (await eventsOf(watching, 5)).map((event) =>
      event.type === 'BOOKMARK'
        ? event.type
        : `${event.type} ${event.outcome.object.metadata.name} ${JSON.stringify(event.outcome.object.metadata.labels)}`,
    );
    expect(seen).toEqual([
      'ADDED a {"v":"1"}',
      'MODIFIED a {"more":"","v":"1"}',
      'DELETED a {"more":"","v":"1"}',
      'ADDED b {"v":"1"}',
      'DELETED b {"v":"1"}',
    ]);
  });
});
