import { describe, expect, test } from '@jest/globals';
import { toSyncTask } from '@cluster-apiserver/base';
import { deleteObject, patch, update } from '../index.ts';
import { call, failing, raced, robot, useRobots } from '../../test/use-robots.ts';

const robots = useRobots();
const { make, put, read, remove, options } = robots;

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
    robots.nowMs += 60_000;
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
    const store = robots.resource.store;
    const inner = { ...robots.resource };
    const meanwhile = (): Promise<unknown> =>
      update(inner, 'a', robot({ name: 'a', labels: { other: 'x' } }), options, call);
    robots.resource = { ...robots.resource, store: raced(store, meanwhile) };
    await put('a', { labels: { mine: 'y' } });
    expect((await read('a')).object.metadata.labels).toEqual({ mine: 'y' });
    const now = await read('a');
    robots.resource = { ...robots.resource, store: raced(store, meanwhile) };
    expect((await failing(put('a', { resourceVersion: String(now.revision), labels: { mine: 'z' } }))).reason).toBe(
      'Conflict',
    );
    expect(made.revision).not.toBe(now.revision);
  });

  test('an object deleted in between is not made anew', async () => {
    await make({ name: 'a' });
    const inner = { ...robots.resource };
    robots.resource = {
      ...robots.resource,
      store: raced(robots.resource.store, () => deleteObject(inner, 'a', { namespace: 'n', dryRun: false }, call)),
    };
    expect((await failing(put('a', { labels: { x: 'y' } }))).reason).toBe('NotFound');
  });

  test('fifty writers at once lose nothing', async () => {
    await make({ name: 'a' });
    const add = (i: number) =>
      patch(
        robots.resource,
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
    expect((await failing(update(robots.resource, 'a', robot({ name: 'a', ...metadata }), options, call))).reason).toBe(
      reason,
    );
    expect((await read('a')).revision).toBe(made.revision);
  });
});
