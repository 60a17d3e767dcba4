import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { emptyRobot, robot, robotKind } from '../../test/robot.ts';
import type { KubeObject, ManagedFieldsEntry } from '../kind/object.ts';
import { managedFieldsAfterUpdate, type Writer } from './managed-fields.ts';

const sameNames = { toStored: new Map<string, string>(), fromStored: new Map<string, string>() };

let clock = 0;
/** The entries after an update from `live` to `next`. */
function write(live: KubeObject | undefined, next: object, manager: string): KubeObject {
  const object = robot(next);
  const time = `2026-01-01T00:00:${String(clock++ % 60).padStart(2, '0')}Z`;
  const writer = { manager, apiVersion: 'v1', time };
  const managedFields = runSync(managedFieldsAfterUpdate(robotKind.schema, live ?? emptyRobot, object, writer));
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, uid: 'u', ...(managedFields && { managedFields }) } };
}
const deepFields = (levels: number): ManagedFieldsEntry => ({
  manager: 'deep',
  operation: 'Update',
  apiVersion: 'v1',
  time: '2026-01-01T00:00:00Z',
  fieldsType: 'FieldsV1',
  fieldsV1: JSON.parse(`${'{"f:a":'.repeat(levels)}{}${'}'.repeat(levels)}`) as unknown,
});
const owned = (object: KubeObject): Record<string, unknown> =>
  Object.fromEntries((object.metadata.managedFields ?? []).map((entry) => [entry.manager, entry.fieldsV1]));

describe('ownership after updates', () => {
  test('the creator owns the fields that it set, and none that the server sets', () => {
    const created = write(
      undefined,
      {
        metadata: { name: 'a', labels: { x: '1' }, finalizers: ['e/f'] },
        secrets: [{ name: 's' }],
        words: ['w'],
        source: { host: 'h' },
        about: { name: 'n' },
      },
      'm',
    );
    expect(owned(created)).toEqual({
      m: {
        'f:about': {},
        'f:metadata': { 'f:finalizers': { '.': {}, 'v:"e/f"': {} }, 'f:labels': { '.': {}, 'f:x': {} } },
        'f:secrets': { '.': {}, 'k:{"name":"s"}': {} },
        'f:source': { 'f:host': {} },
        'f:words': {},
      },
    });
  });

  test('a writer owns the fields that it changes or adds', () => {
    const created = write(undefined, { metadata: { labels: { k: '1', l: '1' } } }, 'one');
    expect(owned(write(created, { metadata: { labels: { k: '2', l: '1', m: '1' } } }, 'two'))).toEqual({
      one: { 'f:metadata': { 'f:labels': { '.': {}, 'f:l': {} } } },
      two: { 'f:metadata': { 'f:labels': { 'f:k': {}, 'f:m': {} } } },
    });
  });

  test('a removed field has no owner, and a writer without fields has no entry', () => {
    const created = write(undefined, { awake: true }, 'one');
    const changed = write(created, { awake: true, words: ['w'] }, 'two');
    expect(owned(write(changed, { words: ['w'] }, 'two'))).toEqual({ two: { 'f:words': {} } });
  });

  test.each([101, 3000, 9000])('fields that a client sends %i levels deep are refused', (levels) => {
    const created = write(undefined, { awake: true }, 'one');
    expect(() => write(created, { awake: true, metadata: { managedFields: [deepFields(levels)] } }, 'two')).toThrow(
      'metadata.managedFields[0].fieldsV1: Invalid value',
    );
  });

  test('a hundred levels are accepted', () => {
    const created = write(undefined, { awake: true, metadata: { managedFields: [deepFields(100)] } }, 'two');
    expect(Object.keys(owned(created))).toEqual(['deep', 'two']);
  });

  test('deeper fields that are stored already hinder no write, and go with it', () => {
    const created = write(undefined, { awake: true }, 'one');
    const managedFields = [deepFields(3000)];
    const live = { ...created, metadata: { ...created.metadata, managedFields } };
    expect(owned(write(live, { words: ['w'], metadata: { managedFields } }, 'two'))).toEqual({});
  });

  test('an object that was never tracked stays untracked', () => {
    const untracked = { ...robot({}), metadata: { uid: 'u' } };
    expect(write(untracked, { awake: true }, 'm').metadata.managedFields).toBeUndefined();
  });

  test('one empty entry resets the ownership', () => {
    const created = write(undefined, { awake: true }, 'one');
    expect(
      write(created, { awake: true, metadata: { managedFields: [{}] } }, 'two').metadata.managedFields,
    ).toBeUndefined();
  });

  test('entries that a client sends replace the stored ones, unless they are broken', () => {
    const created = write(undefined, { awake: true }, 'one');
    const mine: ManagedFieldsEntry = {
      manager: 'mine',
      operation: 'Update',
      apiVersion: 'v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:awake': {} },
    };
    expect(owned(write(created, { awake: true, metadata: { managedFields: [mine] } }, 'two'))).toEqual({
      mine: { 'f:awake': {} },
    });
    expect(
      owned(write(created, { awake: true, metadata: { managedFields: [{ ...mine, operation: 'Dance' }] } }, 'two')),
    ).toEqual({ one: { 'f:awake': {} } });
  });

  test('of several entries of one writer that a client sends the last counts', () => {
    const created = write(undefined, { metadata: { labels: { k: '1', l: '1', m: '1' } } }, 'one');
    const entry = (operation: string, label: string): ManagedFieldsEntry => ({
      ...{ manager: 'two', operation, apiVersion: 'v1', time: '2026-01-01T00:00:00Z' },
      ...{ fieldsType: 'FieldsV1', fieldsV1: { 'f:metadata': { 'f:labels': { [`f:${label}`]: {} } } } },
    });
    const managedFields = [entry('Update', 'k'), entry('Apply', 'k'), entry('Update', 'l'), entry('Apply', 'm')];
    const written = write(created, { metadata: { labels: { k: '1', l: '1', m: '1' }, managedFields } }, 'three');
    expect(written.metadata.managedFields).toEqual([entry('Apply', 'm'), entry('Update', 'l')]);
  });

  test('entries without a key leave the ownership as it was', () => {
    const created = write(undefined, { awake: true }, 'one');
    expect(owned(write(created, { awake: false, secrets: [{}] }, 'two'))).toEqual({ one: { 'f:awake': {} } });
  });

  test('many writers are put together, so that the record stays small', () => {
    let object = write(undefined, { metadata: { labels: { l0: '' } } }, 'm0');
    for (let i = 1; i < 30; i++) {
      object = write(
        object,
        {
          metadata: {
            labels: Object.fromEntries(Array.from({ length: i + 1 }, (_, k) => [`l${k}`, ''])),
            managedFields: object.metadata.managedFields,
          },
        },
        `m${i}`,
      );
    }
    const managers = (object.metadata.managedFields ?? []).map(({ manager }) => manager);
    expect(managers).toHaveLength(10);
    expect(managers).toContain('ancient-changes');
    expect(managers).toContain('m29');
  });

  describe('of too many updates the oldest of one version are put together', () => {
    const [core, events] = ['v1', 'events.k8s.io/v1'];
    const schema = { ...robotKind.schema, versions: new Map([core, events].map((version) => [version, sameNames])) };

    /** The entries after one more update than an object keeps, by manager and version, oldest first. */
    function entriesAfter(stored: readonly Partial<ManagedFieldsEntry>[], writer: Partial<Writer>): string[] {
      const labels = Object.fromEntries(stored.map((_, at) => [`l${at}`, '']));
      const managedFields = stored.map((entry, at) => ({
        operation: 'Update',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:metadata': { 'f:labels': { [`f:l${at}`]: {} } } },
        time: `2026-01-01T00:00:${String(at).padStart(2, '0')}Z`,
        ...entry,
      }));
      const live = robot({ metadata: { uid: 'u', labels, managedFields } });
      const next = robot({ metadata: { uid: 'u', labels: { ...labels, mine: '' }, managedFields } });
      const update = { manager: 'new', apiVersion: core, time: '2026-01-01T01:00:00Z', ...writer };
      const entries = runSync(managedFieldsAfterUpdate(schema, live, next, update)) ?? [];
      return entries.map(({ manager, apiVersion }) => `${manager} ${apiVersion}`);
    }
    const many = (count: number, apiVersion: string): { manager: string; apiVersion: string }[] =>
      Array.from({ length: count }, (_, at) => ({ manager: `m${at}`, apiVersion }));

    test('a writer in another version keeps its entry', () => {
      const entries = entriesAfter(many(10, events), {});
      expect(entries).toHaveLength(10);
      expect([entries[0], entries.at(-1)]).toEqual([`ancient-changes ${events}`, `new ${core}`]);
    });

    test('each into an entry of its own version', () => {
      const stored = [...many(2, core), ...many(10, events)];
      expect(entriesAfter(stored, {}).slice(0, 3)).toEqual([
        `ancient-changes ${core}`,
        `ancient-changes ${events}`,
        `m3 ${events}`,
      ]);
    });

    test('equally old ones in the order of their managers, and an entry for old updates never twice', () => {
      const time = '2026-01-01T00:00:00Z';
      const named = ['c', 'b', 'ancient-changes', 'a', 'd', 'e', 'f', 'g', 'h', 'i'].map((manager) => ({
        manager,
        apiVersion: core,
        time,
      }));
      expect(entriesAfter(named, {})).toEqual([
        `ancient-changes ${core}`,
        ...['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map((manager) => `${manager} ${core}`),
        `new ${core}`,
      ]);
    });
  });
});
