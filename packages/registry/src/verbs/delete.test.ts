import { beforeEach, describe, expect, test } from '@jest/globals';
import { requireValue } from '@cluster-apiserver/base';
import { type Integer, parseJson } from '@cluster-apiserver/model/json';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { decode, deleteOptions } from '@cluster-apiserver/model/schema';
import { StorageUnavailableError, WriteInDoubtError } from '@cluster-apiserver/storage';
import { create, type DeleteOptions, deleteCollection, list, type Outcome, update } from '../index.ts';
import { call, everything, failing, raced, robot, useRobots } from '../../test/use-robots.ts';

/** As a body brings it. */
const beyond53 = (digits: string): Integer =>
  requireValue(decode(deleteOptions, parseJson(`{"gracePeriodSeconds":${digits}}`).value, () => {}).gracePeriodSeconds);

const robots = useRobots();
const { make, read, remove, options } = robots;

describe('delete', () => {
  test('answers with the object at the revision of the deletion', async () => {
    const made = await make({ name: 'a' });
    const { answer, gone } = await remove('a');
    expect(gone).toBe(true);
    expect((answer as Outcome).revision).toBeGreaterThan(made.revision as number);
    expect((await failing(remove('a'))).reason).toBe('NotFound');
  });

  test('answers with a Status of what it removed and the object that is held, unless the kind says otherwise', async () => {
    const { resource } = robots;
    const answerOf = async (deletedAnswer: Kind['deletedAnswer'], finalizers: string[]): Promise<unknown> => {
      const name = `${deletedAnswer}-${finalizers.length}`.toLowerCase();
      await make({ name, finalizers });
      robots.resource = { ...resource, kind: { ...resource.kind, deletedAnswer } };
      const { answer } = await remove(name);
      return 'status' in answer ? answer.status : 'object';
    };
    expect(await answerOf('object', [])).toBe('object');
    expect(await answerOf('objectIfHeld', [])).toBe('Success');
    expect(await answerOf('status', [])).toBe('Success');
    expect(await answerOf('object', ['e.x/hold'])).toBe('object');
    expect(await answerOf('objectIfHeld', ['e.x/hold'])).toBe('object');
    expect(await answerOf('status', ['e.x/hold'])).toBe('Success');
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
    robots.nowMs += 5000;
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

  test('repeated with the same policy changes nothing, whatever the order of the finalizers', async () => {
    await make({ name: 'a', finalizers: ['orphan', 'e.x/hold'] });
    await remove('a', { propagationPolicy: 'Orphan' });
    const { object, revision } = await read('a');
    expect(object.metadata.finalizers).toEqual(['orphan', 'e.x/hold']);
    await remove('a', { propagationPolicy: 'Orphan' });
    expect((await read('a')).revision).toBe(revision);
  });

  describe('in two steps', () => {
    const awake = ({ metadata }: KubeObject): boolean => metadata.labels?.['awake'] === 'yes';
    beforeEach(() => {
      const deletion = { isHeld: awake, begin: (object: KubeObject) => object };
      robots.resource = { ...robots.resource, kind: { ...robots.resource.kind, deletion } };
    });

    test('marks the object first, even if nothing holds it, and removes it then', async () => {
      await make({ name: 'a' });
      expect((await remove('a')).gone).toBe(false);
      expect((await read('a')).object.metadata.deletionTimestamp).toBeDefined();
      expect((await remove('a')).gone).toBe(true);
    });

    test.each([
      [true, ['orphan']],
      [false, ['foregroundDeletion']],
    ])('with orphanDependents %s has the finalizers %j', async (orphanDependents, finalizers) => {
      await make({ name: 'a' });
      await remove('a', { orphanDependents });
      expect((await read('a')).object.metadata.finalizers).toEqual(finalizers);
    });

    test('sets neither a grace period nor another generation', async () => {
      await make({ name: 'a', generation: 4 });
      await remove('a');
      const { metadata } = (await read('a')).object;
      expect([metadata.generation, metadata.deletionGracePeriodSeconds]).toEqual([4, undefined]);
    });

    test('changes nothing while the object is held by more than finalizers', async () => {
      await make({ name: 'a', labels: { awake: 'yes' } });
      await remove('a');
      const { revision } = await read('a');
      expect((await remove('a', { propagationPolicy: 'Orphan' })).gone).toBe(false);
      expect((await read('a')).revision).toBe(revision);
    });

    test('names the resource in a conflict', async () => {
      const { revision, object } = await make({ name: 'a' });
      expect(await failing(remove('a', { preconditions: { uid: 'x' } }))).toMatchObject({
        message: `Operation cannot be fulfilled on robots.test.example "a": Precondition failed: UID in precondition: x, UID in object meta: ${object.metadata.uid}`,
        details: { name: 'a', group: 'test.example', kind: 'robots' },
      });
      expect((await failing(remove('a', { preconditions: { resourceVersion: '1' } }))).message).toContain(
        `Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: ${revision}`,
      );
    });
  });

  test('with a grace period beyond 2^53 deletes', async () => {
    await make({ name: 'a' });
    expect((await remove('a', { gracePeriodSeconds: beyond53('9223372036854775807') })).gone).toBe(true);
  });

  test('with a resourceVersion as precondition fails after a concurrent write', async () => {
    const made = await make({ name: 'a' });
    const inner = { ...robots.resource };
    robots.resource = {
      ...robots.resource,
      store: raced(robots.resource.store, () =>
        update(inner, 'a', robot({ name: 'a', labels: { x: 'y' } }), options, call),
      ),
    };
    expect((await failing(remove('a', { preconditions: { resourceVersion: String(made.revision) } }))).reason).toBe(
      'Conflict',
    );
  });

  test('of a collection keeps other namespaces, and objects with finalizers', async () => {
    await Promise.all(['a', 'b', 'c'].map((name) => make({ name })));
    await make({ name: 'held', finalizers: ['e.x/hold'] });
    await create(robots.resource, robot({ name: 'a' }), { ...options, namespace: 'n2' }, call);
    await deleteCollection(robots.resource, { list: everything, delete: { dryRun: false }, workers: 3 }, call);
    const left = await list(robots.resource, { ...everything, namespace: undefined }, call);
    expect(left.items.map(({ object: { metadata } }) => `${metadata.namespace}/${metadata.name}`)).toEqual([
      'n/held',
      'n2/a',
    ]);
  });

  test('of a collection ends with its last worker after a failure, and none deletes on', async () => {
    await Promise.all(Array.from({ length: 20 }, (_, n) => make({ name: `r${n}` })));
    const { store } = robots.resource;
    let attempts = 0;
    let running = 0;
    const failingStore: typeof store = {
      ...store,
      delete: async (...args) => {
        if (attempts++ === 0) throw new StorageUnavailableError('no answer');
        running++;
        for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
        const deleted = await store.delete(...args);
        running--;
        return deleted;
      },
    };
    const resource = { ...robots.resource, store: failingStore };
    const deletion = { list: everything, delete: { dryRun: false }, workers: 3 };
    expect((await failing(deleteCollection(resource, deletion, call))).reason).toBe('Timeout');
    expect(running).toBe(0);
    expect(attempts).toBeLessThanOrEqual(3);
  });

  test.each<[string, (Error | undefined)[], object]>([
    [
      'the first deletion',
      [new StorageUnavailableError('no answer')],
      { reason: 'ServiceUnavailable', retryAfterSeconds: 1 },
    ],
    [
      'the second deletion',
      [undefined, new StorageUnavailableError('no answer')],
      {
        reason: 'Timeout',
        retryAfterSeconds: undefined,
        message: 'deleted 1 robot, then failed: the storage is unavailable; please try again',
      },
    ],
    [
      'two deletions, of which one is in doubt',
      [new StorageUnavailableError('no answer'), new WriteInDoubtError('/b')],
      {
        reason: 'Timeout',
        retryAfterSeconds: undefined,
        message: expect.stringMatching(/^deleted 0 robots, then failed: the storage did not confirm the write in time/),
      },
    ],
  ])('of a collection that fails with %s says whether anything was written', async (_, failures, error) => {
    for (const name of ['a', 'b', 'c']) await make({ name });
    const { store } = robots.resource;
    const remaining = [...failures];
    const failingStore: typeof store = {
      ...store,
      delete: (...args) => {
        const failure = remaining.shift();
        return failure ? Promise.reject(failure) : store.delete(...args);
      },
    };
    const workers = failures.every((failure) => failure) ? failures.length : 1;
    const deletion = { list: everything, delete: { dryRun: false }, workers };
    expect(await failing(deleteCollection({ ...robots.resource, store: failingStore }, deletion, call))).toMatchObject(
      error,
    );
  });
});
