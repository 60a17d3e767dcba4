import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { requireValue, systemClock } from '@cluster-apiserver/base';
import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { openTestRegistry } from '../test/open-test-registry.ts';
import { mapApi, type Registry } from './index.ts';

const robotOf = (plural: string, storagePrefix: string, kind = 'Robot'): Kind =>
  defineKind({
    group: 'example.com',
    version: 'v1',
    kind,
    plural,
    singular: 'robot',
    description: '',
    fields: {},
    storage: { prefix: storagePrefix },
    otherVersions: [
      { group: 'example.com', version: 'v2', fields: {}, renamed: {}, selectableFields: {}, validate: () => {} },
    ],
  });

const robots = robotOf('robots', 'robots');
let registry: Registry;
beforeEach(() => {
  registry = openTestRegistry(robots, memoryStore(systemClock), systemClock);
});
afterEach(() => registry.cache.close());

test('a snapshot finds resources by path, kind, group and version, and never changes', async () => {
  const { api } = registry;
  const before = api.current;
  const [v1, v2] = before.resources;
  expect(before.stored).toEqual([v1]);
  expect(before.byPath('example.com', 'v2', 'robots')).toBe(v2);
  expect(before.byKind('example.com/v2', 'Robot')).toBe(v2);
  expect(before.byGroupKind('example.com', 'Robot')).toBe(v1);
  expect(before.ofVersion(robots)).toBe(v1);
  expect(v2 && before.storedOf(v2)).toBe(v1);
  expect(before.equivalentsOf(robots)).toEqual([v2?.served]);
  const seen: boolean[] = [];
  const stop = api.onChange((current, previous) => seen.push(current === api.current && previous !== current));
  api.remove(robots);
  stop();
  expect(seen).toEqual([true]);
  expect(before.byPath('example.com', 'v1', 'robots')).toBe(v1);
  expect(api.current.resources).toEqual([]);
  await api.add(robots);
  expect(seen).toEqual([true]);
});

test('a version that is not served is stored, read and converted, and has no path', async () => {
  const { api } = registry;
  const served = { group: 'example.com', fields: {}, renamed: {}, selectableFields: {}, validate: () => {} };
  const lamps = defineKind({
    group: 'example.com',
    version: 'v3',
    kind: 'Lamp',
    plural: 'lamps',
    singular: 'lamp',
    description: '',
    fields: {},
    isServed: false,
    otherVersions: [
      { ...served, version: 'v1', isServed: false },
      { ...served, version: 'v2' },
    ],
  });
  await api.add(lamps);
  const { current } = api;
  const found = requireValue(current.byPath('example.com', 'v2', 'lamps'));
  for (const version of ['v1', 'v3']) {
    expect(current.byPath('example.com', version, 'lamps')).toBeUndefined();
    expect(current.byKind(`example.com/${version}`, 'Lamp')).toBeUndefined();
  }
  expect(current.resources).toContain(found);
  expect(current.stored.map(({ kind }) => kind)).toContain(lamps);
  expect(current.byGroupKind('example.com', 'Lamp')?.served).toBe(lamps);
  expect(current.storedOf(found)?.served).toBe(lamps);
  expect(current.equivalentsOf(lamps)).toEqual([found.served]);
  expect(current.equivalentsOf(found.served)).toEqual([]);
  api.remove(lamps);
  expect(api.current.all).toEqual(registry.api.current.resources);
});

test('a kind whose names or place another one has is refused, and the other stays served', async () => {
  const { api } = registry;
  const lamps = robotOf('lamps', 'lamps', 'Lamp');
  await api.add(lamps);
  const others = api.current;
  for (const kind of [robotOf('robots', 'other', 'Other'), robotOf('others', 'other')])
    await expect(api.add(kind)).rejects.toThrow('the name of another kind');
  await expect(api.add(robotOf('others', 'robots', 'Other'))).rejects.toThrow('served already');
  await expect(api.replace(robotOf('robots', 'lamps', 'Lamp'))).rejects.toThrow('the name of another kind');
  expect(api.current).toBe(others);
  expect(api.current.byPath('example.com', 'v1', 'lamps')?.collection.isReady).toBe(true);
  const copy = { ...robotOf('copies', 'copies', 'Copy') };
  await expect(api.add(copy)).rejects.toThrow('a copy of a kind');
  expect(api.current.isLoading).toBe(false);
});

test('a mapped API has the same resources for the same ones', async () => {
  const mapped = mapApi(registry.api, (resource) => ({ ...resource, shardedReads: true }));
  const [first] = mapped.current.stored;
  expect(mapped.current).toBe(mapped.current);
  expect(first).toMatchObject({ kind: robots, shardedReads: true });
  let stored: unknown;
  mapped.onChange((current) => {
    stored = current.stored[0];
  });
  await registry.api.add(robotOf('lamps', 'lamps', 'Lamp'));
  expect(stored).toBe(first);
});
