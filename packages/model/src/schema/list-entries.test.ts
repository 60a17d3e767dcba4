/** Lists whose entries several keys identify together, and keys with defaults. */
import { constantFrom, record, assert, option, property, uniqueArray } from 'fast-check';
import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import type { KubeObject } from '../kind/object.ts';
import { apply, ApplyConflictError } from '../managed-fields/apply.ts';
import { readApplied } from '../managed-fields/applied.ts';
import { compare } from '../managed-fields/compare.ts';
import { placesOf, toFieldsV1 } from '../managed-fields/field-set.ts';
import { PatchFormError } from '../patch/errors.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import { objectMeta, typeMeta } from './common.ts';
import { toJsonSchema } from './json-schema.ts';
import { findEntryStep, identityOfEntry, UnkeyedEntryError } from './list-entries.ts';
import { field, int32, jsonField, list, object, type SharedListSchema, string } from './schema.ts';

const port = object({
  port: jsonField(int32, ''),
  protocol: jsonField({ ...string, default: 'TCP' }, ''),
  name: jsonField(string, ''),
});
const ports = list(port, { keys: ['protocol', 'port'] }) as SharedListSchema;
const schema = object({ ...typeMeta, metadata: field(1, objectMeta, '', 'always'), ports: jsonField(ports, '') });

describe('the step of an entry', () => {
  test.each<[object, string]>([
    [{ port: 80, protocol: 'UDP', name: 'x' }, 'k:{"port":80,"protocol":"UDP"}'],
    [{ port: 80 }, 'k:{"port":80,"protocol":"TCP"}'],
    [{ name: 'x' }, 'k:{"protocol":"TCP"}'],
  ])('%j is its keys, sorted and with defaults', (entry, step) => {
    expect(findEntryStep(ports, entry)).toBe(step);
    expect(identityOfEntry(ports, entry)).toBe(step);
  });

  test('without any key there is none', () => {
    const named = list(port, { keys: ['name', 'port'] }) as SharedListSchema;
    expect(findEntryStep(named, { protocol: 'TCP' })).toBeUndefined();
    expect(() => identityOfEntry(named, {})).toThrow(new UnkeyedEntryError('an entry has no name or port'));
  });

  test.each(['always', 'required'] as const)('a key that is %s there is empty without a value', (presence) => {
    const owner = object({ uid: jsonField(string, '', presence), name: jsonField(string, '') });
    const owners = list(owner, { keys: ['uid'] }) as SharedListSchema;
    expect(findEntryStep(owners, { name: 'x' })).toBe('k:{"uid":""}');
    expect(identityOfEntry(owners, { name: 'x' })).toBe('');
  });

  test('of a set is its value, however deep', () => {
    const set = list(string, 'set') as SharedListSchema;
    expect(findEntryStep(set, 'a"')).toBe(String.raw`v:"a\""`);
    expect(findEntryStep(set, ['a', 1])).toBe('v:["a",1]');
    expect(identityOfEntry(set, 'a')).toBe('a');
  });
});

const empty: KubeObject = { metadata: {} };
const applied = (live: KubeObject, manager: string, entries: readonly object[], force = false): KubeObject => {
  const applier = { manager, apiVersion: 'v1', time: '2026-01-01T00:00:00Z', force };
  return runSync(
    apply(
      schema,
      live,
      empty,
      readApplied(schema, { metadata: {}, ports: entries }, () => {}),
      applier,
    ),
  );
};

test('two managers own entries that differ in one of the keys', () => {
  const one = applied({ metadata: { uid: 'u' } }, 'm1', [{ port: 53, name: 'a' }]);
  const both = applied(one, 'm2', [{ port: 53, protocol: 'UDP', name: 'b' }]);
  expect(both['ports']).toEqual([
    { port: 53, name: 'a' },
    { port: 53, protocol: 'UDP', name: 'b' },
  ]);
  expect(both.metadata.managedFields?.map(({ fieldsV1 }) => fieldsV1)).toEqual([
    { 'f:ports': { 'k:{"port":53,"protocol":"TCP"}': { '.': {}, 'f:name': {}, 'f:port': {} } } },
    { 'f:ports': { 'k:{"port":53,"protocol":"UDP"}': { '.': {}, 'f:name': {}, 'f:port': {}, 'f:protocol': {} } } },
  ]);
  expect(applied(both, 'm1', [])['ports']).toEqual([{ port: 53, protocol: 'UDP', name: 'b' }]);
});

test('a default stands for the absent key of the same entry', () => {
  const one = applied({ metadata: { uid: 'u' } }, 'm1', [{ port: 53, protocol: 'TCP', name: 'a' }]);
  expect(() => applied(one, 'm2', [{ port: 53, name: 'b' }])).toThrow(ApplyConflictError);
  expect(applied(one, 'm2', [{ port: 53, name: 'b' }], true)['ports']).toEqual([
    { port: 53, protocol: 'TCP', name: 'b' },
  ]);
});

test('two entries of one key are refused', () => {
  const entries = [{ port: 1 }, { port: 1, protocol: 'TCP' }];
  expect(() => applied(empty, 'm', entries)).toThrow(
    new PatchFormError('.ports: several entries [port=1,protocol="TCP"]'),
  );
});

const entry = record(
  {
    port: constantFrom(1, 2),
    protocol: option(constantFrom('TCP', 'UDP'), { nil: undefined }),
    name: constantFrom('x', 'y'),
  },
  { requiredKeys: ['port'] },
).map(({ protocol, ...rest }) => ({ ...rest, ...(protocol && { protocol }) }));
const entries = uniqueArray(entry, { selector: (one) => findEntryStep(ports, one) });

test('comparing and applying agree on which entry is which', () => {
  assert(
    property(entries, entries, (before, after) => {
      const [left, right] = [before, after].map((one) => ({ metadata: {}, ports: one }));
      const { added, removed } = compare(schema, left, right);
      const steps = (all: readonly object[]): Set<string | undefined> =>
        new Set(all.map((one) => findEntryStep(ports, one)));
      const [old, next] = [steps(before), steps(after)];
      const listed = (set: typeof added): string[] =>
        Object.entries(toFieldsV1(set.below.get('f:ports') ?? set))
          .filter(
            ([step, below]) =>
              step.startsWith('k:') && ('.' in (below as object) || Object.keys(below as object).length === 0),
          )
          .map(([step]) => step);
      expect(new Set(listed(added))).toEqual(new Set([...next].filter((step) => !old.has(step))));
      expect(new Set(listed(removed))).toEqual(new Set([...old].filter((step) => !next.has(step))));
      const once = applied(applied({ metadata: { uid: 'u' } }, 'm', before), 'm', after);
      expect(once['ports'] ?? []).toEqual(after);
      expect(placesOf(compare(schema, once, applied(once, 'm', after)).modified)).toEqual([]);
    }),
    { seed: 1 },
  );
});

test('a strategic merge patch merges by the first key, or replaces', () => {
  const byPort = list(port, { keys: ['port', 'protocol'] });
  const replaced = list(port, { keys: ['port'], isReplacedByPatch: true });
  const patched = (held: typeof byPort): unknown =>
    applyStrategicMergePatch(
      object({ held: jsonField(held, '') }),
      { held: [{ port: 1, name: 'a' }, { port: 2 }] },
      { held: [{ port: 1, protocol: 'UDP' }] },
    );
  expect(patched(byPort)).toEqual({ held: [{ port: 1, name: 'a', protocol: 'UDP' }, { port: 2 }] });
  expect(patched(replaced)).toEqual({ held: [{ port: 1, protocol: 'UDP' }] });
});

test('OpenAPI names all keys, and the first one for patches', () => {
  const form = (held: typeof ports): object => toJsonSchema(held, { references: '', describedReferences: true });
  expect(form(ports)).toMatchObject({
    'x-kubernetes-list-map-keys': ['protocol', 'port'],
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-patch-merge-key': 'protocol',
  });
  const replaced = list(port, { keys: ['port'], isReplacedByPatch: true }) as SharedListSchema;
  expect(Object.keys(form(replaced)).filter((name) => name.includes('patch'))).toEqual([]);
});
