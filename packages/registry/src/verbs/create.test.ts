import { describe, expect, test } from '@jest/globals';
import { decode } from '@cluster-apiserver/model/schema';
import { create } from '../index.ts';
import { call, failing, robot, useRobots } from '../../test/use-robots.ts';

const robots = useRobots();
const { options, make, read } = robots;

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
    expect(JSON.stringify(decode(robots.resource.kind.schema, JSON.parse(made.json), () => {}))).toBe(made.json);
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
    robots.resource = {
      ...robots.resource,
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
    robots.resource = { ...robots.resource, random: { ...robots.resource.random, below: () => 0 } };
    await make({ generateName: 'r-' });
    const error = await failing(make({ generateName: 'r-' }));
    expect(error).toMatchObject({ reason: 'AlreadyExists', retryAfterSeconds: 1 });
  });

  test('a dry run writes nothing and still finds a taken name', async () => {
    const tried = await create(robots.resource, robot({ name: 'a' }), { ...options, dryRun: true }, call);
    expect(tried.revision).toBeUndefined();
    expect((await failing(read('a'))).reason).toBe('NotFound');
    await make({ name: 'a' });
    expect(
      (await failing(create(robots.resource, robot({ name: 'a' }), { ...options, dryRun: true }, call))).reason,
    ).toBe('AlreadyExists');
  });

  test('of two that create the same name at the same time one wins', async () => {
    const results = await Promise.allSettled([make({ name: 'a' }), make({ name: 'a' }), make({ name: 'a' })]);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test.each(['..', '.', 'a/b', 'a%b', ''])('the namespace %j is refused and touches no key', async (namespace) => {
    expect(
      (await failing(create(robots.resource, robot({ name: 'a' }), { ...options, namespace }, call))).code,
    ).toBeLessThan(500);
    expect((await robots.resource.store.list({ prefix: '/' }, call)).entries).toEqual([]);
  });
});
