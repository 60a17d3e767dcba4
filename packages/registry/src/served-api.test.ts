import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { requireValue, systemClock } from '@cluster-apiserver/base';
import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { openTestRegistry } from '../test/open-test-registry.ts';
import { type ApiChange, mapApi, type Registry } from './index.ts';

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

test('resources are found by path, kind, group and version, until their kind is removed', async () => {
  const { api } = registry;
  const { resources, stored } = api;
  const [v1, v2] = resources;
  expect(stored).toEqual([v1]);
  expect([api.resources === resources, api.stored === stored]).toEqual([true, true]);
  const found = () => [
    api.byPath('example.com', 'v2', 'robots'),
    api.byKind('example.com/v2', 'Robot'),
    api.byGroupKind('example.com', 'Robot'),
    api.ofVersion(robots),
  ];
  expect(found()).toEqual([v2, v2, v1, v1]);
  const changes: ApiChange[] = [];
  const stop = api.onChange((change) => void changes.push(change));
  api.remove(robots);
  expect(changes).toEqual([{ came: [], went: [v1, v2] }]);
  expect(found()).toEqual([undefined, undefined, undefined, undefined]);
  expect([api.resources, api.stored]).toEqual([[], []]);
  expect(resources).toEqual([v1, v2]);
  stop();
  await api.add(robots);
  expect(changes).toHaveLength(1);
});

test('a kind of a definition is found by its name, also in another version, and replaced as a whole', async () => {
  const { api } = registry;
  const definition = 'lamps.example.com';
  const before = { ...robotOf('lamps', 'lamps', 'Lamp'), definition };
  // A kind is its own stored version.
  Object.assign(before, { versions: [before, ...before.versions.slice(1)] });
  await api.add(before);
  const found = api.byDefinition(definition);
  expect(found?.kind).toBe(before);
  const changes: ApiChange[] = [];
  api.onChange((change) => void changes.push(change));
  const after = { ...before };
  Object.assign(after, { versions: [after] });
  await api.replace(after);
  expect(api.byDefinition(definition)?.kind).toBe(after);
  expect(api.byPath('example.com', 'v2', 'lamps')).toBeUndefined();
  expect(changes.map(({ came, went }) => [came.length, went.length])).toEqual([[1, 2]]);
  api.remove(after);
  expect(api.byDefinition(definition)).toBeUndefined();
});

test('listeners hear of a kind that is removed before it is loaded', async () => {
  const { api } = registry;
  const lamps = robotOf('lamps', 'lamps', 'Lamp');
  const changes: ApiChange[] = [];
  api.onChange((change) => void changes.push(change));
  const adding = api.add(lamps);
  expect(api.isLoading).toBe(true);
  api.remove(lamps);
  expect(api.isLoading).toBe(false);
  expect(changes).toEqual([{ came: [], went: [] }]);
  await expect(adding).rejects.toThrow();
  expect(changes).toHaveLength(1);
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
  const found = requireValue(api.byPath('example.com', 'v2', 'lamps'));
  for (const version of ['v1', 'v3']) {
    expect(api.byPath('example.com', version, 'lamps')).toBeUndefined();
    expect(api.byKind(`example.com/${version}`, 'Lamp')).toBeUndefined();
  }
  expect(api.resources).toContain(found);
  expect(api.stored.map(({ kind }) => kind)).toContain(lamps);
  expect(api.byGroupKind('example.com', 'Lamp')?.served).toBe(lamps);
  expect(lamps.versions.map((version) => api.ofVersion(version)?.served)).toEqual(lamps.versions);
});

test('a kind whose names or place another one has is refused, and the other stays served', async () => {
  const { api } = registry;
  const lamps = robotOf('lamps', 'lamps', 'Lamp');
  await api.add(lamps);
  const others = api.resources;
  for (const kind of [robotOf('robots', 'other', 'Other'), robotOf('others', 'other')])
    await expect(api.add(kind)).rejects.toThrow('the name of another kind');
  await expect(api.add(robotOf('others', 'robots', 'Other'))).rejects.toThrow('served already');
  await expect(api.replace(robotOf('robots', 'lamps', 'Lamp'))).rejects.toThrow('the name of another kind');
  expect(api.resources).toBe(others);
  expect(api.byPath('example.com', 'v1', 'lamps')?.collection.isReady).toBe(true);
  const copy = { ...robotOf('copies', 'copies', 'Copy') };
  await expect(api.add(copy)).rejects.toThrow('a copy of a kind');
  expect(api.isLoading).toBe(false);
});

test('a mapped API has the same resources for the same ones', async () => {
  const mapped = mapApi(registry.api, (resource) => ({ ...resource, shardedReads: true }));
  const [first] = mapped.stored;
  expect(mapped.stored).toBe(mapped.stored);
  expect(first).toMatchObject({ kind: robots, shardedReads: true });
  const changes: ApiChange[] = [];
  mapped.onChange((change) => void changes.push(change));
  const lamps = robotOf('lamps', 'lamps', 'Lamp');
  await registry.api.add(lamps);
  expect(mapped.stored[0]).toBe(first);
  expect(changes).toEqual([{ came: [mapped.stored[1], mapped.ofVersion(requireValue(lamps.versions[1]))], went: [] }]);
  expect(mapped.byGroupKind('example.com', 'Lamp')).toBe(mapped.stored[1]);
});
