import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { array, assert, constantFrom, dictionary, property, record, uniqueArray } from 'fast-check';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { applyToModel, type Model, updateModel, type Wanted } from '../../test/ownership-model.ts';
import { patienceMs } from '../../test/random-json.ts';
import { emptyRobot, robot, robotKind } from '../../test/robot.ts';
import type { KubeObject } from '../kind/object.ts';
import { PatchFormError } from '../patch/errors.ts';
import { WrongTypeError } from '../schema/decode.ts';
import { readApplied } from './applied.ts';
import { ApplyConflictError, apply, conflictCauses } from './apply.ts';
import { fromFieldsV1, placesOf, type FieldSet } from './field-set.ts';
import { managedFieldsAfterUpdate } from './managed-fields.ts';

/** All from one seed, so that a soak begins with those of `npm test`. */
const objects = repetitions({ ci: 2_000, soak: 10_000 });
/** Ten on average. */
const writesMax = 20;

const { schema } = robotKind;

/** The stored object after a manager has applied a configuration. */
function applied(live: KubeObject | undefined, manager: string, configuration: object, force = false): KubeObject {
  const wanted = readApplied(schema, configuration, () => {});
  const applier = { manager, apiVersion: 'v1', time: '2026-01-01T00:00:00Z', force };
  return stored(runSync(apply(schema, live ?? emptyRobot, emptyRobot, wanted, applier)));
}

function updated(live: KubeObject, manager: string, next: object): KubeObject {
  const object = robot(next);
  const writer = { manager, apiVersion: 'v1', time: '2026-01-01T00:00:00Z' };
  const managedFields = runSync(managedFieldsAfterUpdate(schema, live, object, writer));
  return stored({ ...object, metadata: { ...object.metadata, ...(managedFields && { managedFields }) } });
}

const stored = ({ metadata, ...rest }: KubeObject): KubeObject =>
  robot({ ...rest, metadata: { ...metadata, uid: 'u' } });
const owned = (object: KubeObject): Record<string, unknown> =>
  Object.fromEntries(
    (object.metadata.managedFields ?? []).map(({ operation, manager, fieldsV1 }) => [
      `${operation} ${manager}`,
      fieldsV1,
    ]),
  );
const labelled = (labels: object, more: object = {}) => ({ metadata: { labels }, ...more });
const conflictOf = (attempt: () => unknown): ReturnType<typeof conflictCauses> => {
  try {
    attempt();
  } catch (error) {
    if (error instanceof ApplyConflictError) return conflictCauses(error.conflicts);
    throw error;
  }
  throw new Error('there was no conflict');
};

describe('an applier owns the fields that it mentions', () => {
  test('and nothing else, whatever the kind of the place', () => {
    const object = applied(undefined, 'm', {
      kind: 'Robot',
      apiVersion: 'v1',
      metadata: { name: 'a', labels: { x: '1' }, finalizers: ['e/f'], annotations: {} },
      secrets: [{ name: 's' }],
      words: ['w'],
      source: { host: 'h' },
      about: { name: 'n' },
      state: {},
      awake: null,
    });
    expect(owned(object)).toEqual({
      'Apply m': {
        'f:about': {},
        'f:awake': {},
        'f:metadata': { 'f:annotations': {}, 'f:finalizers': { 'v:"e/f"': {} }, 'f:labels': { 'f:x': {} } },
        'f:secrets': { 'k:{"name":"s"}': {} },
        'f:source': { 'f:host': {} },
        'f:state': {},
        'f:words': {},
      },
    });
  });

  test('and fields that it no longer mentions are removed, unless another manager owns them', () => {
    const both = applied(applied(undefined, 'one', labelled({ a: '1', b: '1' })), 'two', labelled({ b: '1' }));
    expect(applied(both, 'one', {}).metadata.labels).toEqual({ b: '1' });
    expect(owned(applied(both, 'one', {}))).toEqual({ 'Apply two': { 'f:metadata': { 'f:labels': { 'f:b': {} } } } });
  });

  test('and an inner object without owned fields is removed as a whole', () => {
    const object = applied(undefined, 'one', { state: { mood: 'm', task: 't' }, source: { host: 'h' } });
    expect(applied(object, 'one', { state: { mood: 'm' } })).toMatchObject({ state: { mood: 'm' }, source: {} });
    expect(applied(object, 'one', {})).not.toHaveProperty('state');
  });

  test('whatever a client wrote into managedFields', () => {
    const live = applied(undefined, 'm', labelled({ a: '1' }, { awake: true, words: ['w'] }));
    const [entry] = live.metadata.managedFields ?? [];
    for (const fieldsV1 of [
      { 'v:null': {}, 'v:name': {}, 'k:{bad': {}, 'i:0': {}, 'f:nothing': { 'f:like': {} }, 'f:words': { 'i:0': {} } },
      { 'f:awake': { 'f:x': {} }, 'f:metadata': { 'v:labels': {}, 'f:labels': { 'k:{': {}, '.': {} } } },
      { 'f:__proto__': {}, 'f:metadata': { 'f:labels': { 'f:__proto__': {} } } },
    ]) {
      const forged = { ...live, metadata: { ...live.metadata, managedFields: [{ ...entry, fieldsV1 }] } };
      const { metadata, ...rest } = applied(forged, 'm', { kind: 'Robot' });
      expect(metadata.labels).toEqual({ a: '1' });
      expect(rest).toMatchObject({ awake: true });
    }
  });

  test('and a second entry for its updates', () => {
    const object = updated(applied(undefined, 'm', labelled({ a: '1' })), 'm', labelled({ a: '1', b: '2' }));
    expect(Object.keys(owned(object))).toEqual(['Apply m', 'Update m']);
    expect(() => applied(object, 'm', labelled({ a: '1', b: '3' }))).toThrow(ApplyConflictError);
  });

  test('and fields from before tracking belong to before-first-apply', () => {
    const untracked = stored(robot(labelled({ a: '1' }, { words: ['w'] })));
    const object = applied(untracked, 'm', labelled({ b: '2' }));
    expect(owned(object)).toEqual({
      'Apply m': { 'f:metadata': { 'f:labels': { 'f:b': {} } } },
      'Update before-first-apply': { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } }, 'f:words': {} },
    });
    expect(applied(object, 'm', {})).toMatchObject({ metadata: { labels: { a: '1' } }, words: ['w'] });
  });
});

describe('a conflict', () => {
  const live = updated(
    applied(undefined, 'one', labelled({ a: '1', b: '1' }, { awake: true })),
    'two',
    labelled({ a: '1', b: '2' }, { awake: true }),
  );

  test('names each field with its manager', () => {
    expect(conflictOf(() => applied(live, 'three', labelled({ a: '9' })))).toEqual({
      message: 'Apply failed with 1 conflict: conflict with "one": .metadata.labels.a',
      causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.metadata.labels.a' }],
    });
    const { message, causes } = conflictOf(() =>
      applied(live, 'three', labelled({ a: '9', b: '9' }, { awake: false })),
    );
    expect(message).toBe(
      'Apply failed with 3 conflicts: conflicts with "one":\n- .awake\n- .metadata.labels.a\nconflicts with "two" using v1:\n- .metadata.labels.b',
    );
    expect(causes.map(({ field }) => field)).toEqual(['.awake', '.metadata.labels.a', '.metadata.labels.b']);
  });

  test('is no conflict when the values are equal: then both own the field', () => {
    const object = applied(live, 'three', labelled({ a: '1' }));
    expect(owned(object)).toMatchObject({ 'Apply one': { 'f:metadata': { 'f:labels': { 'f:a': {} } } } });
    expect(owned(object)).toMatchObject({ 'Apply three': { 'f:metadata': { 'f:labels': { 'f:a': {} } } } });
  });

  test('is decided by force, which takes the fields and nothing else', () => {
    const object = applied(live, 'three', labelled({ b: '9' }), true);
    expect(object.metadata.labels).toEqual({ a: '1', b: '9' });
    expect(owned(object)).toEqual({
      'Apply one': { 'f:awake': {}, 'f:metadata': { 'f:labels': { 'f:a': {} } } },
      'Apply three': { 'f:metadata': { 'f:labels': { 'f:b': {} } } },
    });
  });

  test.each([[null], [undefined]])(
    'is caused by unsetting a field of another manager, and not by leaving it out',
    (value) => {
      const attempt = (): KubeObject => applied(live, 'three', value === null ? { awake: null } : {});
      if (value === null) expect(conflictOf(attempt).causes).toMatchObject([{ field: '.awake' }]);
      else expect(attempt()).toMatchObject({ awake: true });
    },
  );

  test('is not caused by a map that others put keys into', () => {
    const object = applied(undefined, 'one', labelled({}));
    expect(applied(object, 'two', labelled({ a: '1' })).metadata.labels).toEqual({ a: '1' });
    const made = applied(updated(emptyRobot, 'u', labelled({ a: '1' })), 'one', labelled({ a: '2' }), true);
    expect(applied(made, 'one', { metadata: { labels: null } }).metadata.labels).toBeUndefined();
  });

  test('names list entries by key and by value', () => {
    const object = applied(undefined, 'one', { secrets: [{ name: 's', uid: '1' }], metadata: { finalizers: ['x/y'] } });
    expect(
      conflictOf(() => applied(object, 'two', { secrets: [{ name: 's', uid: '2' }] })).causes.map(({ field }) => field),
    ).toEqual(['.secrets[name="s"]']);
    expect(placesOf(fromFieldsV1({ 'f:finalizers': { 'v:"x/y"': {} } }) as FieldSet)).toEqual(['.finalizers[="x/y"]']);
  });
});

describe('lists that writers share', () => {
  const named = (...names: string[]) => names.map((name) => ({ name }));
  test.each<[string, string[], string[], string[]]>([
    ['what is new comes last', ['a', 'b'], ['c'], ['a', 'b', 'c']],
    ['the configuration gives the order of what it mentions', ['a', 'b', 'c'], ['c', 'a'], ['b', 'c', 'a']],
    ['others stay before what they were before', ['a', 'x', 'b'], ['a', 'b'], ['a', 'x', 'b']],
    ['what is new comes where the configuration has it', ['a', 'x', 'b'], ['n', 'b'], ['a', 'x', 'n', 'b']],
  ])('%s', (_, live, wanted, expected) => {
    const object = updated(emptyRobot, 'u', { secrets: named(...live) });
    expect(applied(object, 'm', { secrets: named(...wanted) })['secrets']).toEqual(named(...expected));
  });

  test.each<[string, object]>([
    ['two entries with one key', { secrets: named('a', 'a') }],
    ['an entry without its key', { secrets: [{ uid: 'u' }] }],
    ['an entry that is null', { secrets: [null] }],
    ['a value twice', { metadata: { finalizers: ['a/b', 'a/b'] } }],
    ['no value', { metadata: { finalizers: [null] } }],
  ])('%s cannot be applied', (_, configuration) => {
    expect(() => applied(undefined, 'm', configuration)).toThrow(PatchFormError);
  });

  test('entries that a writer doubled become one', () => {
    const object = updated(emptyRobot, 'u', { secrets: named('a', 'b', 'a') });
    expect(applied(object, 'm', { secrets: named('a') }, true)['secrets']).toEqual(named('a', 'b'));
    expect(applied(object, 'm', { secrets: named('c') })['secrets']).toEqual(named('a', 'b', 'a', 'c'));
  });

  test('long lists in opposite orders take no time worth speaking of', () => {
    const names = Array.from({ length: 20_000 }, (_, at) => `n${at}`);
    const wanted = [...names.map((name) => `new-${name}`), ...names.toReversed()];
    const object = applied(updated(emptyRobot, 'u', { secrets: named(...names) }), 'm', { secrets: named(...wanted) });
    expect(object['secrets']).toHaveLength(40_000);
  });
});

test.each([[{ awake: 'yes' }], [{ metadata: 7 }], [{ metadata: { labels: { a: 1 } } }], [{ secrets: {} }]])(
  '%j is refused by its type',
  (configuration) => {
    expect(() => applied(undefined, 'm', configuration)).toThrow(WrongTypeError);
  },
);

test('__proto__ is plain data', () => {
  const configuration = JSON.parse('{"metadata":{"labels":{"__proto__":"x"}},"__proto__":{"polluted":1}}') as object;
  const object = applied(applied(undefined, 'one', labelled({ a: '1' })), 'two', configuration);
  expect(JSON.stringify(object.metadata.labels)).toBe('{"__proto__":"x","a":"1"}');
  expect(JSON.stringify(applied(object, 'two', {}).metadata.labels)).toBe('{"a":"1"}');
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

describe('for all configurations', () => {
  const letter = constantFrom('a', 'b', 'c');
  const configuration = record(
    {
      metadata: record(
        { labels: dictionary(letter, constantFrom('1', '2')), finalizers: uniqueArray(constantFrom('e/a', 'e/b')) },
        { requiredKeys: [] },
      ),
      secrets: uniqueArray(record({ name: letter, uid: constantFrom('1', '2') }), { selector: ({ name }) => name }),
      words: array(letter, { maxLength: 2 }),
      state: record({ mood: letter, task: letter }, { requiredKeys: [] }),
      source: record({ host: letter }, { requiredKeys: [] }),
      awake: constantFrom(true, false),
    },
    { requiredKeys: [] },
  );
  /** Everything but the order of lists that several writers made together. */
  const contents = (object: KubeObject): object => ({
    ...object,
    owners: owned(object),
    secrets: JSON.stringify(
      [...((object['secrets'] ?? []) as object[])].map((secret) => JSON.stringify(secret)).sort(),
    ),
    metadata: { labels: object.metadata.labels, finalizers: [...(object.metadata.finalizers ?? [])].sort() },
  });

  test('applying twice is applying once', () => {
    assert(
      property(configuration, configuration, (first, second) => {
        const once = applied(applied(undefined, 'other', first), 'm', second, true);
        expect(applied(once, 'm', second)).toEqual(once);
      }),
      { seed: 1 },
    );
  });

  test('appliers without conflicts reach the same state in any order', () => {
    assert(
      property(configuration, configuration, (first, second) => {
        const start = updated(emptyRobot, 'u', {});
        const attempt = (live: KubeObject, manager: string, wanted: object): KubeObject | undefined => {
          try {
            return applied(live, manager, wanted);
          } catch (error) {
            if (error instanceof ApplyConflictError) return undefined;
            throw error;
          }
        };
        const [one, other] = [applied(start, 'one', first), applied(start, 'two', second)];
        const [both, alsoBoth] = [attempt(one, 'two', second), attempt(other, 'one', first)];
        expect(both === undefined).toBe(alsoBoth === undefined);
        if (both && alsoBoth) expect(contents(both)).toEqual(contents(alsoBoth));
      }),
      { seed: 1 },
    );
  });

  test('an applier that stops removes exactly the fields that only it owned', () => {
    assert(
      property(configuration, configuration, (first, second) => {
        // An empty map is not shown, so it disappears with its last entry, even if another manager owns the map.
        if (fillsEmpty(second, first)) return;
        const alone = applied(updated(emptyRobot, 'u', {}), 'one', first);
        let both: KubeObject;
        try {
          both = applied(alone, 'two', second);
        } catch (error) {
          if (error instanceof ApplyConflictError) return;
          throw error;
        }
        expect(contents(applied(both, 'two', {}))).toEqual(contents(alone));
      }),
      { seed: 1 },
    );
  });
});

/** Whether there is something of one inside of what is empty in the other. */
function fillsEmpty(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const [entries, others] = [Object.entries(one), Object.entries(other)];
  if (others.length === 0) return entries.length > 0;
  return entries.some(([key, entry]) => fillsEmpty(entry, others.find(([name]) => name === key)?.[1]));
}

describe(`up to ${writesMax} random writes each of ${objects} objects`, () => {
  test(
    'leave the values and the owners that the model has',
    () => {
      let conflicts = 0;
      assert(
        property(array(write, { minLength: 1, maxLength: writesMax, size: 'max' }), (writes) => {
          // A field that never changes, because an object without any owner is no longer tracked.
          let live = updated(emptyRobot, 'maker', { about });
          const model: Model = { values: new Map(), owners: new Map() };
          updateModel(model, 'maker', valuesOf([aboutPlace]));
          for (const { manager, how, places } of writes) {
            if (how === 'update') {
              live = updated(live, manager, { ...objectOf(places), about });
              updateModel(model, manager, valuesOf([...places, aboutPlace]));
            } else {
              const force = how === 'force';
              const refusals = applyToModel(model, manager, wantedOf(places), force);
              let actual: readonly string[] = [];
              try {
                live = applied(live, manager, objectOf(places), force);
              } catch (error) {
                if (!(error instanceof ApplyConflictError)) throw error;
                actual = error.conflicts
                  .flatMap(({ manager: other, fields }) =>
                    placesOf(fields).map(
                      (place) =>
                        `${other.endsWith(' using v1') ? 'Update' : 'Apply'} ${JSON.parse(other.replace(' using v1', ''))} ${place}`,
                    ),
                  )
                  .sort();
              }
              if (actual.join() !== refusals.join())
                throw new Error(`conflicts ${actual.join()} instead of ${refusals.join()}`);
              conflicts += refusals.length > 0 ? 1 : 0;
            }
            const [seen, expected] = [describeLive(live), describeModel(model)];
            if (seen !== expected) throw new Error(`${seen} instead of ${expected}`);
          }
        }),
        { numRuns: objects, seed: 44 },
      );
      expect(conflicts).toBeGreaterThan(objects / 2);
    },
    patienceMs,
  );

  const about = { name: 'n' };
  const aboutPlace = ['.about', JSON.stringify(about)] as const;

  type Places = readonly (readonly [place: string, value: string | null])[];

  const choices: Places = [
    ...['a', 'b'].flatMap(
      (key): Places => [
        [`.metadata.labels.${key}`, '"1"'],
        [`.metadata.labels.${key}`, '"2"'],
      ],
    ),
    ['.metadata.finalizers[="e/a"]', 'true'],
    ['.metadata.finalizers[="e/b"]', 'true'],
    ['.secrets[name="s"]', '{"name":"s","uid":"1"}'],
    ['.secrets[name="s"]', '{"name":"s","uid":"2"}'],
    ['.secrets[name="t"]', '{"name":"t"}'],
    ['.source.host', '"h"'],
    ['.source.host', '""'],
    ['.source.part', '"p"'],
    ['.awake', 'true'],
    ['.awake', 'null'],
    ['.words', '["v"]'],
    ['.words', '["w"]'],
    ['.words', 'null'],
  ];

  const write = record({
    manager: constantFrom('one', 'two', 'three'),
    how: constantFrom('apply', 'apply', 'force', 'update'),
    places: array(constantFrom(...choices), { maxLength: 4 }).map((chosen): Places => [...new Map(chosen)]),
  });

  /** What the API takes for unset. */
  const isUnset = (value: string | null): boolean => value === 'null' || value === '""';
  const wantedOf = (places: Places): Wanted =>
    new Map(places.map(([place, value]) => [place, isUnset(value) ? undefined : (value as string)]));
  const valuesOf = (places: Places): Map<string, string> =>
    new Map(places.flatMap(([place, value]) => (isUnset(value) ? [] : [[place, value as string]])));

  function objectOf(places: Places): object {
    const value = Object.fromEntries(places);
    const parsed = (place: string): unknown => JSON.parse(value[place] ?? 'null') as unknown;
    const given = (entries: readonly (readonly [string, string])[]): object =>
      Object.fromEntries(entries.filter(([, place]) => place in value).map(([name, place]) => [name, parsed(place)]));
    const list = (prefix: string): string[] =>
      Object.keys(value)
        .filter((place) => place.startsWith(prefix))
        .sort();
    const labels = given(['a', 'b'].map((key) => [key, `.metadata.labels.${key}`]));
    const finalizers = list('.metadata.finalizers').map((place) => place.slice('.metadata.finalizers[="'.length, -2));
    const secrets = list('.secrets').map(parsed);
    const source = given(['host', 'part'].map((name) => [name, `.source.${name}`]));
    return {
      metadata: {
        ...(Object.keys(labels).length > 0 && { labels }),
        ...(finalizers.length > 0 && { finalizers }),
      },
      ...(secrets.length > 0 && { secrets }),
      ...(Object.keys(source).length > 0 && { source }),
      ...given([
        ['awake', '.awake'],
        ['words', '.words'],
      ]),
    };
  }

  function describeLive(live: KubeObject): string {
    const { labels = {}, finalizers = [], managedFields = [] } = live.metadata;
    const source = live['source'] as Record<string, string>;
    const values: [string, unknown][] = [
      ...Object.entries(labels).map(([key, value]): [string, unknown] => [`.metadata.labels.${key}`, value]),
      ...finalizers.map((value): [string, unknown] => [`.metadata.finalizers[="${value}"]`, true]),
      ...((live['secrets'] ?? []) as { name: string }[]).map((secret): [string, unknown] => [
        `.secrets[name="${secret.name}"]`,
        secret,
      ]),
      ...Object.entries(source).map(([name, value]): [string, unknown] => [`.source.${name}`, value]),
      ['.about', live['about']],
      ...(live['awake'] === undefined ? [] : [['.awake', live['awake']] as [string, unknown]]),
      ...(live['words'] === undefined ? [] : [['.words', live['words']] as [string, unknown]]),
    ];
    const owners = managedFields.map(({ operation, manager, fieldsV1 }): [string, string[]] => [
      `${operation} ${manager}`,
      placesOf(fromFieldsV1(fieldsV1) as FieldSet).filter((place) => !containers.has(place)),
    ]);
    return text(new Map(values.map(([place, value]) => [place, JSON.stringify(value)])), owners);
  }

  /** Places that hold others; the model knows only those that hold values. */
  const containers = new Set(['.metadata.labels', '.metadata.finalizers', '.secrets']);

  const describeModel = ({ values, owners }: Model): string =>
    text(
      values,
      [...owners].map(([owner, places]) => [owner, [...places]]),
    );

  const text = (
    values: ReadonlyMap<string, string>,
    owners: readonly (readonly [string, readonly string[]])[],
  ): string =>
    [
      ...[...values].map(([place, value]) => `${place} = ${value}`),
      ...owners.flatMap(([owner, places]) => places.map((place) => `${owner} owns ${place}`)),
    ]
      .sort()
      .join('\n');
});
