import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { emptyRobot, robot, robotKind } from '../../test/robot.ts';
import type { KubeObject } from '../kind/object.ts';
import { fieldNames } from '../schema/schema.ts';
import { readApplied } from './applied.ts';
import { ApplyConflictError, conflictCauses } from './apply.ts';
import { applyAsKubectlDid } from './last-applied.ts';
import { managedFieldsAfterUpdate } from './managed-fields.ts';

const { schema } = robotKind;
const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
const time = '2026-01-01T00:00:00Z';

/** What kubectl left when it applied by patches of its own, with whatever happened afterwards. */
function leftByKubectl(configuration: object, now: object = configuration): KubeObject {
  const object = robot({
    ...now,
    metadata: {
      ...(now as { metadata?: object }).metadata,
      annotations: { [annotation]: JSON.stringify(configuration) },
    },
  });
  const writer = { manager: 'kubectl-client-side-apply', apiVersion: 'v1', time };
  const managedFields = runSync(managedFieldsAfterUpdate(schema, emptyRobot, object, writer));
  return { ...object, metadata: { ...object.metadata, uid: 'u', ...(managedFields && { managedFields }) } };
}

const apply = (live: KubeObject, manager: string, configuration: object, force = false): KubeObject =>
  runSync(
    applyAsKubectlDid(
      schema,
      live,
      emptyRobot,
      readApplied(schema, configuration, () => {}),
      { manager, apiVersion: 'v1', time, force },
    ),
  );

describe('a change from client-side to server-side apply', () => {
  const first = { awake: true, words: ['a'] };
  const second = { awake: false, words: ['a', 'b'] };

  test('has no conflict with the last applied configuration, and updates the annotation', () => {
    const object = apply(leftByKubectl(first), 'kubectl', second);
    expect(object).toMatchObject(second);
    expect(JSON.parse(object.metadata.annotations?.[annotation] ?? '')).toEqual(second);
    expect(() => apply(leftByKubectl(first), 'another', second)).toThrow(ApplyConflictError);
  });

  test('reads the configuration by the names of the version in which it was applied', () => {
    const renamed = new Map([['v2', fieldNames({ text: 'words' })]]);
    const versioned = { ...schema, versions: new Map([...(schema.versions ?? []), ...renamed]) };
    const live = leftByKubectl(first);
    const annotations = { [annotation]: JSON.stringify({ apiVersion: 'v2', kind: 'Robot', awake: true, text: ['a'] }) };
    const object = runSync(
      applyAsKubectlDid(
        versioned,
        { ...live, metadata: { ...live.metadata, annotations } },
        emptyRobot,
        readApplied(versioned, second, () => {}),
        { manager: 'kubectl', apiVersion: 'v1', time, force: false },
      ),
    );
    expect(object).toMatchObject(second);
  });

  test('has a conflict about fields that changed since', () => {
    try {
      apply(leftByKubectl(first, { ...first, words: ['changed'] }), 'kubectl', second);
      throw new Error('there was no conflict');
    } catch (error) {
      expect(error).toBeInstanceOf(ApplyConflictError);
      expect(conflictCauses((error as ApplyConflictError).conflicts).causes.map(({ field }) => field)).toEqual([
        '.words',
      ]);
    }
  });

  test.each([['no JSON'], ['[]'], ['null'], ['{"awake":"yes"}'], ['{"secrets":[{}]}']])(
    'has them all when the annotation says %s',
    (text) => {
      const live = leftByKubectl(first);
      const broken = { ...live, metadata: { ...live.metadata, annotations: { [annotation]: text } } };
      expect(() => apply(broken, 'kubectl', second)).toThrow(ApplyConflictError);
    },
  );

  test('keeps an annotation that does not hold itself, and none that is too large', () => {
    const nested = { ...second, metadata: { annotations: { [annotation]: 'x', other: 'y' } } };
    const text = apply(leftByKubectl(first), 'kubectl', nested, true).metadata.annotations?.[annotation] ?? '';
    expect(JSON.parse(text)).toMatchObject({ metadata: { annotations: { other: 'y' } } });
    expect(text).not.toContain(annotation);
    const large = { ...second, words: ['w'.repeat(300_000)] };
    expect(apply(leftByKubectl(first), 'kubectl', large).metadata.annotations).toEqual({});
  });
});
