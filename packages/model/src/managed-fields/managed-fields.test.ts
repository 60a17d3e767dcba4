import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { emptyRobot, robot, robotKind } from '../../test/robot.ts';
import type { KubeObject, ManagedFieldsEntry } from '../kind/object.ts';
import { managedFieldsAfterUpdate } from './managed-fields.ts';

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
});
