import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { formatPath } from '@cluster-apiserver/model';
import { encodeProtobuf, encodeStored, formatYaml, parseProtobuf, parseYaml } from '@cluster-apiserver/model/codec';
import { parseJson } from '@cluster-apiserver/model/json';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { applyAsKubectlDid, managedFieldsAfterUpdate, readApplied } from '@cluster-apiserver/model/managed-fields';
import {
  applyMergePatch,
  applyJsonPatch,
  readJsonPatch,
  applyStrategicMergePatch,
} from '@cluster-apiserver/model/patch';
import { decode } from '@cluster-apiserver/model/schema';
import {
  fieldMatcher,
  labelMatcher,
  parseFieldSelector,
  parseLabelSelector,
  SelectorSyntaxError,
} from '@cluster-apiserver/model/selector';
import { kinds } from '@cluster-apiserver/kinds';

/** Names of Object.prototype are ordinary keys wherever client input is looked up. */
const names = Object.getOwnPropertyNames(Object.prototype);

const kind = kinds({ eventLifetimeSeconds: 3600, serviceAccountTokens: undefined }).find(
  (one) => one.kind === 'ServiceAccount',
) as Kind;
const { schema } = kind;
const own = (entries: readonly (readonly [string, unknown])[]): Record<string, unknown> => Object.fromEntries(entries);
const canonical = (value: object): KubeObject => decode(schema, value, () => {});
const account = (annotations: object): KubeObject =>
  canonical({ kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name: 'a', uid: 'u', annotations } });
const writer = { manager: 'm', apiVersion: 'v1', time: '2026-01-01T00:00:00Z' };

describe.each(names)('%s', (name) => {
  const plain = own([[name, 'x']]);

  test('is an ordinary key in JSON, YAML and protobuf, in both directions', () => {
    const object = account(plain);
    expect(object.metadata.annotations).toEqual(plain);
    expect(parseJson(encodeStored(object)).value).toEqual(object);
    expect(parseYaml(formatYaml(object)).value).toEqual(object);
    const names = { kind: 'ServiceAccount', apiVersion: 'v1' };
    expect(parseProtobuf(encodeProtobuf(schema, { ...object, ...names }), () => schema).value).toEqual(object);
    expect(parseJson(JSON.stringify(plain)).faults).toEqual([]);
    expect(parseYaml(`${name}: 1\n`).faults).toEqual([]);
  });

  test('is an unknown field of every kind', () => {
    const unknown: string[] = [];
    decode(schema, own([[name, 1]]), (path) => unknown.push(formatPath(path)));
    expect(unknown).toEqual([name]);
  });

  test('is an ordinary member for every patch type', () => {
    const empty = account({});
    const before = { ...empty, metadata: { ...empty.metadata, annotations: {} } };
    const patch = { metadata: { annotations: plain } };
    const change = (result: unknown): unknown => (result as KubeObject).metadata.annotations;
    expect(change(applyMergePatch(before, patch))).toEqual(plain);
    expect(change(applyStrategicMergePatch(schema, before, patch))).toEqual(plain);
    const path = `/metadata/annotations/${name}`;
    const add = readJsonPatch([
      { op: 'test', path, value: null },
      { op: 'add', path, value: 'x' },
    ]);
    expect(change(runSync(applyJsonPatch(before, add)))).toEqual(plain);
    const remove = readJsonPatch([{ op: 'remove', path }]);
    expect(() => runSync(applyJsonPatch(before, remove))).toThrow('nothing is at');
    const unknown = readJsonPatch([{ op: name, path, value: 1 }]);
    expect(() => runSync(applyJsonPatch(before, unknown))).toThrow('op must be');
    expect(() => applyStrategicMergePatch(schema, before, { $patch: name })).toThrow('unknown $patch directive');
  });

  test('is an ordinary merge key of a list entry', () => {
    const merged = applyStrategicMergePatch(schema, { secrets: [{ name: 'a' }] }, { secrets: [{ name }, { name }] });
    expect((merged as { secrets: unknown }).secrets).toEqual([{ name }, { name: 'a' }]);
  });

  test('is an ordinary label in selectors', () => {
    const many = names.map((one) => `!x${one.replaceAll('_', '')}`).join(',');
    if (name.startsWith('_')) {
      expect(() => parseLabelSelector(name)).toThrow(SelectorSyntaxError);
      return;
    }
    for (const selector of [name, `${name},${many}`]) {
      expect(labelMatcher(parseLabelSelector(selector))({})).toBe(false);
      expect(labelMatcher(parseLabelSelector(selector))(plain as Record<string, string>)).toBe(true);
      expect(labelMatcher(parseLabelSelector(`!${selector}`))({})).toBe(true);
    }
  });

  test('is not a selectable field, and an ordinary value', () => {
    expect(() => parseFieldSelector(`${name}=x`, kind)).toThrow(SelectorSyntaxError);
    const matches = fieldMatcher(parseFieldSelector(`metadata.name=${name}`, kind));
    expect([name, 'other'].map((one) => matches({ name: one, namespace: '', fields: undefined }))).toEqual([
      true,
      false,
    ]);
  });

  test('is an ordinary owned field', () => {
    const empty = canonical({ kind: 'ServiceAccount', apiVersion: 'v1', metadata: {} });
    const live = account({});
    const next = { ...account(plain), metadata: { annotations: plain } as never };
    const owned = runSync(managedFieldsAfterUpdate(schema, empty, next, writer));
    expect(JSON.stringify(owned)).toContain(JSON.stringify(`f:${name}`));
    const configuration = { kind: 'ServiceAccount', apiVersion: 'v1', metadata: { name: 'a', annotations: plain } };
    const applied = readApplied(schema, configuration, () => {});
    const after = runSync(applyAsKubectlDid(schema, live, empty, applied, { ...writer, force: false }));
    expect(after.metadata.annotations).toEqual(plain);
    const dropped = readApplied(schema, { ...configuration, metadata: { name: 'a' } }, () => {});
    const without = runSync(applyAsKubectlDid(schema, after, empty, dropped, { ...writer, force: false }));
    expect(without.metadata.annotations ?? {}).toEqual({});
  });
});

test('none of this has changed Object.prototype', () => {
  expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(names);
});
