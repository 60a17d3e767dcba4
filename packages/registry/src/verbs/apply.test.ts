import { describe, expect, test } from '@jest/globals';
import { readApplied } from '@cluster-apiserver/model/managed-fields';
import { apply, create } from '../index.ts';
import { call, failing, raced, robot, useRobots } from '../../test/use-robots.ts';

const robots = useRobots();
const { make, read, remove, options } = robots;

describe('apply', () => {
  const applyAs = (manager: string, metadata: object, fields: object = {}, more: object = {}) =>
    apply(
      robots.resource,
      'a',
      readApplied(
        robots.resource.kind.schema,
        { kind: 'Robot', apiVersion: 'test.example/v1', metadata, ...fields },
        () => {},
      ),
      { ...options, manager, force: false, ...more },
      call,
    );

  test('creates an absent object, and the same again changes nothing, not even a time', async () => {
    const first = await applyAs('one', { name: 'a', labels: { x: '1' }, resourceVersion: '7' });
    expect(first.created).toBe(true);
    robots.nowMs += 60_000;
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
    const inner = { ...robots.resource };
    robots.resource = {
      ...robots.resource,
      store: raced(robots.resource.store, () => create(inner, robot({ name: 'a', labels: { y: '2' } }), options, call)),
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
