/** A schema of many values, as the definition of a custom kind may have one, is encoded in many short steps. */
import { expect, test } from '@jest/globals';
import protobuf from 'protobufjs/minimal.js';
import type { JsonSchema } from '@cluster-apiserver/model/schema';
import { countValues } from '@cluster-apiserver/model/validation';
import { documentJson2, documentBegin2 } from './version-2.ts';
import { encodeDocument2 } from './version-2-protobuf.ts';
import { documentBegin3, documentJson3 } from './version-3.ts';
import { encodeDocument3 } from './version-3-protobuf.ts';

const members = (count: number, make: (at: number) => JsonSchema): Record<string, JsonSchema> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, make(at)]));
const text: JsonSchema = { type: 'string', description: 'A text.' };
const wide = (count: number): JsonSchema => ({ type: 'object', properties: members(count, () => text) });
const large: JsonSchema = {
  type: 'object',
  description: 'Large.',
  required: ['k0'],
  properties: {
    ...members(10, () => wide(700)),
    listed: { type: 'array', items: { type: 'object', properties: members(5, () => wide(500)) } },
    mapped: { type: 'object', additionalProperties: { allOf: [wide(1_500), { $ref: '#/x' }] } },
  },
  default: Array.from({ length: 5_000 }, (_, at) => at),
};
const parts = [{ definition: 'a.Large', schema: large }] as const;

test.each([
  ['2', () => documentJson2(documentBegin2('1'), parts), 'definitions'],
  ['3', () => documentJson3(documentBegin3('1'), parts), 'components'],
] as const)('as JSON of version %s', (_, generate, place) => {
  const pieces = [...generate()].filter((piece) => piece !== undefined);
  const document = JSON.parse(pieces.join('')) as Record<string, unknown>;
  expect(JSON.stringify(document[place])).toContain(JSON.stringify(large));
  for (const piece of pieces)
    if (/^[[{].+[\]}]$/s.test(piece)) expect(countValues(JSON.parse(piece))).toBeLessThanOrEqual(2_000);
});

/** The fields at a path of numbers of fields that hold messages. */
function fieldsAt(bytes: Uint8Array, path: readonly number[]): Uint8Array[] {
  const reader = protobuf.Reader.create(bytes);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === path[0] && (tag & 7) === 2) found.push(reader.bytes());
    else reader.skipType(tag & 7);
  }
  return path.length === 1 ? found : found.flatMap((one) => fieldsAt(one, path.slice(1)));
}

test.each([
  // definitions, their pairs, the schema, its properties, their pairs, the name
  ['2', () => encodeDocument2(documentBegin2('1'), parts), [9, 1, 2, 25, 1], [2, 25, 1]],
  // components, schemas, pairs, schema or reference, schema, its properties, their pairs
  ['3', () => encodeDocument3(documentBegin3('1'), parts), [5, 1, 1, 2, 1, 31, 1], [2, 1, 31, 1]],
] as const)('as protobuf of version %s', (_, generate, toProperties, toInner) => {
  const steps = [...generate()];
  expect(steps.length).toBeGreaterThan(15);
  const bytes = Buffer.concat(steps.filter((step) => step !== undefined));
  const properties = fieldsAt(bytes, toProperties);
  const names = properties.map((pair) => Buffer.from(fieldsAt(pair, [1])[0] ?? []).toString());
  expect(names).toEqual(Object.keys(large.properties ?? {}));
  const first = properties[0] ?? new Uint8Array();
  const inner = fieldsAt(first, toInner).map((pair) => Buffer.from(fieldsAt(pair, [1])[0] ?? []).toString());
  expect(inner).toEqual(Object.keys(wide(700).properties ?? {}));
});
