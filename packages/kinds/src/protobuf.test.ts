import { describe, expect, test } from '@jest/globals';
import { array, assert, nat, property, tuple } from 'fast-check';
import { encodeProtobuf, parseProtobuf } from '@cluster-apiserver/model/codec';
import { partialMetadataListSchema, partialMetadataSchema } from '@cluster-apiserver/model/kind';
import { decode, deleteOptions, type ObjectSchema, type Schema, statusSchema } from '@cluster-apiserver/model/schema';
import { anyObject } from '../../model/test/any-object.ts';
import { services } from '../test/services.ts';
import { kinds, reviews, type ReviewServices } from './index.ts';

/** Everything that is sent or received as protobuf. */
const forms: readonly (readonly [string, ObjectSchema])[] = [
  ...kinds(services).flatMap(({ kind, apiVersion, schema, listSchema, subresourceForms }) => [
    [`${kind} of ${apiVersion}`, schema] as const,
    [`${kind}List of ${apiVersion}`, listSchema] as const,
    ...subresourceForms.map((form) => [`${form.kind} of ${form.group}`, form.schema] as const),
  ]),
  ...reviews({} as ReviewServices).map(({ kind, schema }) => [kind, schema] as const), // not called
  ['Status', statusSchema],
  ['DeleteOptions', deleteOptions],
  ['PartialObjectMetadata', partialMetadataSchema],
  ['PartialObjectMetadataList', partialMetadataListSchema],
];
const names = { kind: 'Robot', apiVersion: 'v1' };
const runs = { numRuns: 60, seed: 11 };

describe.each(forms)('%s', (_, schema) => {
  const object = anyObject(schema).map((given) => decode(schema, { ...given, ...names }, () => {}));

  test('has a number of its own for every field, and for those inside', () => {
    expect(findingsOf(schema)).toEqual([]);
  });

  test('is the same after protobuf', () => {
    assert(
      property(object, (before) => {
        const bytes = encodeProtobuf(schema, before as never);
        const { value } = parseProtobuf(bytes, () => schema);
        expect(JSON.stringify(decode(schema, value, () => {}))).toBe(JSON.stringify(before));
      }),
      runs,
    );
  });

  test('is rejected with a proper error when bytes of it change or are missing', () => {
    const place = nat(2 ** 31 - 1);
    assert(
      property(object, place, array(tuple(place, nat(255)), { maxLength: 3 }), (value, end, changes) => {
        const bytes = encodeProtobuf(schema, value as never);
        const cut = bytes.subarray(0, end % (bytes.length + 1));
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
        for (const hostile of [cut, bytes]) {
          try {
            decode(schema, parseProtobuf(hostile, () => schema).value, () => {});
          } catch (error) {
            expect((error as Error).name).toMatch(/^(MalformedTextError|WrongTypeError)$/);
          }
        }
      }),
      runs,
    );
  });
});

/** Kind and version of a whole object stand around its message, and those of the items of a list around the list. */
const namesStandAround = (schema: ObjectSchema): boolean => schema === deleteOptions || schema.fields.has('metadata');

/** Those of a message of their own are looked at there. */
const isEmbedded = ({ embedded }: ObjectSchema, name: string): boolean => embedded?.schema.fields.has(name) === true;

/** The paths of fields that have no number, and numbers that two fields have. */
function findingsOf(schema: ObjectSchema, seen: ReadonlySet<unknown> = new Set()): string[] {
  // A form may contain itself.
  if (seen.has(schema.fields)) return [];
  const fields = [...schema.fields.values()].filter(
    ({ name }) =>
      !(namesStandAround(schema) && (name === 'kind' || name === 'apiVersion')) && !isEmbedded(schema, name),
  );
  const numbers = [...fields.map(({ number }) => number), schema.embedded?.number];
  const findings = fields.flatMap(({ name, number, schema: held }, index) => [
    ...(number === undefined ? [`${name} has no number`] : []),
    ...(numbers.lastIndexOf(number) === index ? [] : [`${name} has the number of another`]),
    ...findingsInside(held, new Set([...seen, schema.fields])).map((finding) => `${name}.${finding}`),
  ]);
  return schema.embedded ? [...findings, ...findingsOf(schema.embedded.schema, seen)] : findings;
}

function findingsInside(schema: Schema, seen: ReadonlySet<unknown>): string[] {
  if (schema.type === 'list') return findingsInside(schema.items, seen);
  return schema.type === 'object' ? findingsOf(schema, seen) : [];
}
