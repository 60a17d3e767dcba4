/** Every type, alone, in a list and in a map, in every form in which objects are sent and stored. */
import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { decodeMessage } from '../codec/protobuf-decoder.ts';
import { encodeMessage } from '../codec/protobuf-encoder.ts';
import { decodeStored, encodeStored } from '../codec/stored-form.ts';
import { parseYaml } from '../codec/yaml.ts';
import { formatYaml } from '../codec/yaml-format.ts';
import { parseJson } from '../json/json.ts';
import { rawNumber } from '../json/raw-number.ts';
import type { KubeObject } from '../kind/object.ts';
import { readApplied } from '../managed-fields/applied.ts';
import { compare } from '../managed-fields/compare.ts';
import { type FieldSet, leavesOf, placesOf } from '../managed-fields/field-set.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import { objectMeta, typeMeta } from './common.ts';
import { decode } from './decode.ts';
import { collectDefinitions, toJsonSchema } from './json-schema.ts';
import {
  any,
  boolean,
  bytes,
  double,
  field,
  int32,
  int64,
  intOrString,
  list,
  map,
  microTime,
  object,
  quantity,
  type Schema,
  string,
  time,
} from './schema.ts';

const long = rawNumber('9007199254740993');
const point = object(
  { x: field(1, int32, ''), names: field(2, list(string, 'set'), '') },
  { publication: { name: 'example.Point', description: '' } },
);

const types: readonly (readonly [string, Schema, unknown, object])[] = [
  ['string', string, 'ü"\n', { type: 'string' }],
  ['bytes', bytes, '/wD+', { type: 'string', format: 'byte' }],
  ['boolean', boolean, true, { type: 'boolean' }],
  ['int32', int32, -5, { type: 'integer', format: 'int32' }],
  ['int64', int64, long, { type: 'integer', format: 'int64' }],
  ['double', double, -1.5, { type: 'number', format: 'double' }],
  ['a number that may be a text', intOrString, 8080, { $ref: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString' }],
  ['a text that may be a number', intOrString, 'http', { $ref: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString' }],
  ['quantity', quantity, '1536Mi', { $ref: 'io.k8s.apimachinery.pkg.api.resource.Quantity' }],
  ['time', time, '2026-01-31T12:00:00Z', { type: 'string', format: 'date-time' }],
  ['microTime', microTime, '2026-01-31T12:00:00.000001Z', { type: 'string', format: 'date-time' }],
  ['object', point, { x: 1, names: ['a', 'b'] }, { $ref: 'example.Point' }],
  ['any', any, { a: [1, null, long] }, { type: 'object' }],
];

const shapes: readonly (readonly [string, (held: Schema) => Schema, (value: unknown) => unknown])[] = [
  ['alone', (held) => held, (value) => value],
  ['in a list', (held) => list(held, 'atomic'), (value) => [value, value]],
  ['in a map', map, (value) => ({ a: value, b: value })],
  ['in a list in a map', (held) => map(list(held, 'atomic')), (value) => ({ a: [value], b: [] })],
  ['in a map in a map', (held) => map(map(held)), (value) => ({ a: { b: value }, c: {} })],
];

const cases = types.flatMap(([type, held, value, form]) =>
  shapes.map(([shape, around, valueAround]) => ({
    name: `${type} ${shape}`,
    schema: object({ ...typeMeta, metadata: field(1, objectMeta, '', 'always'), held: field(2, around(held), '') }),
    value: { kind: 'K', apiVersion: 'v1', metadata: { name: 'a', uid: 'u' }, held: valueAround(value) } as KubeObject,
    form,
  })),
);

describe.each(cases)('$name', ({ schema, value, form }) => {
  const canonical = (given: unknown): string => JSON.stringify(decode(schema, given, () => {}));
  const text = JSON.stringify(value);

  test('is canonical', () => expect(canonical(value)).toBe(text));
  test('in JSON', () => expect(canonical(parseJson(text).value)).toBe(text));
  test('in YAML', () => expect(canonical(parseYaml(formatYaml(value)).value)).toBe(text));
  test('in protobuf', () => {
    const message = decodeMessage(schema, encodeMessage(schema, value));
    expect(canonical({ kind: 'K', apiVersion: 'v1', ...message })).toBe(text);
  });
  test('in the store', () => expect(canonical(decodeStored(encodeStored(value)))).toBe(text));
  test('in a strategic merge patch', () => {
    const patched = applyStrategicMergePatch(schema, { metadata: {}, held: undefined }, value);
    expect(canonical(patched)).toBe(text);
    expect(canonical(applyStrategicMergePatch(schema, value, { held: null }))).not.toContain('held');
  });
  test('is owned by an applier as by an updater', () => {
    const { fields } = readApplied(schema, value, () => {});
    const { added } = compare(
      schema,
      decode(schema, { metadata: {} }, () => {}),
      value,
    );
    const held = (set: FieldSet): string[] => placesOf(leavesOf(set)).filter((place) => place.startsWith('.held'));
    expect(held(fields)).toEqual(held(added));
  });
  test('in OpenAPI', () => {
    const dialect = { references: '', describedReferences: true };
    expect(JSON.stringify(toJsonSchema(schema, dialect))).toContain(JSON.stringify(form).slice(1, -1));
    if ('$ref' in form) expect(Object.keys(runSync(collectDefinitions([schema], dialect)))).toContain(form.$ref);
  });
});
