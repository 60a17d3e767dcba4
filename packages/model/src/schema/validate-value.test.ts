import {
  anything,
  array,
  assert,
  bigInt,
  boolean as anyBoolean,
  constantFrom,
  dictionary,
  double as anyDouble,
  integer,
  object as anyObject,
  oneof,
  property,
  string as anyString,
} from 'fast-check';
import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { structuralOf, type WrittenSchema } from '../../test/structural-of.ts';
import { parseJson } from '../json/json.ts';
import { compareNumbers, type Integer, integerOf } from '../json/raw-number.ts';
import { sameJson } from '../json/same-json.ts';
import { formatPath, Problems } from '../problems.ts';
import { decode } from './decode.ts';
import { list, type ObjectSchema, type Schema, string } from './schema.ts';
import { structural } from './structural.ts';
import { UnchangedValues } from './unchanged-values.ts';
import { validateParts } from './validate-parts.ts';
import { validateValue } from './validate-value.ts';

const schemaOf = (spec: WrittenSchema): ObjectSchema =>
  structuralOf({ type: 'object', properties: { spec } }, true) as ObjectSchema;
const read = (schema: ObjectSchema, text: string): unknown =>
  decode(schema, parseJson(`{"metadata":{"name":"a"},"spec":${text}}`).value, () => {});

/** What is wrong with a spec, perhaps of an update, as one text for each cause. */
function causes(written: WrittenSchema, text: string, before?: string): string[] {
  const schema = schemaOf(written);
  const current = before === undefined ? undefined : read(schema, before);
  const problems = new Problems();
  const value = read(schema, text);
  runSync(validateValue(schema, value, current, problems));
  runSync(validateParts(schema, value, current, problems));
  return problems.errors.map(({ path, message }) => `${formatPath(path)}: ${message}`);
}

describe('numbers', () => {
  test.each<[WrittenSchema, string, readonly string[]]>([
    [{ type: 'integer' }, '9223372036854775807', []],
    [
      { type: 'integer' },
      '9223372036854775808',
      [
        'spec: Invalid value: "number": spec in body must be of type integer: "number"',
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec',
      ],
    ],
    [{ type: 'integer', format: 'int32' }, '-2147483648', []],
    [
      { type: 'integer', format: 'int32' },
      '2147483648',
      ['<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec'],
    ],
    [
      { type: 'integer', maximum: integerOf(2n ** 62n) },
      '4611686018427387905',
      ['spec: Invalid value: 4611686018427387905: spec in body should be less than or equal to 4611686018427387904'],
    ],
    [{ type: 'integer', maximum: integerOf(2n ** 62n) }, '4611686018427387904', []],
    [
      { type: 'integer', minimum: 3, exclusiveMinimum: true },
      '3',
      ['spec: Invalid value: 3: spec in body should be greater than 3'],
    ],
    [
      { type: 'integer', multipleOf: 5 },
      '9223372036854775807',
      ['spec: Invalid value: 9223372036854775807: spec in body should be a multiple of 5'],
    ],
    [
      { type: 'integer', multipleOf: 1_000_000, maximum: 10_000_000 },
      '12345678',
      [
        'spec: Invalid value: 12345678: spec in body should be a multiple of 1000000',
        'spec: Invalid value: 12345678: spec in body should be less than or equal to 10000000',
      ],
    ],
    [
      { type: 'number', multipleOf: 1_000_000, maximum: 10_000_000 },
      '12345678.5',
      [
        'spec: Invalid value: 1.23456785e+07: spec in body should be a multiple of 1e+06',
        'spec: Invalid value: 1.23456785e+07: spec in body should be less than or equal to 1e+07',
      ],
    ],
    [
      { type: 'number', multipleOf: 7, minimum: 0.000_01 },
      '0.0000001',
      [
        'spec: Invalid value: 1e-07: spec in body should be a multiple of 7',
        'spec: Invalid value: 1e-07: spec in body should be greater than or equal to 1e-05',
      ],
    ],
    [
      { type: 'number', multipleOf: 7 },
      '1e300',
      ['spec: Invalid value: 1e+300: spec in body should be a multiple of 7'],
    ],
    [{ type: 'number', multipleOf: 100 }, '1e17', []],
    [{ type: 'number', multipleOf: 0.1 }, '0.3', []],
    [{ type: 'integer', multipleOf: 0.5 }, '3', []],
    [{ type: 'number', format: 'float' }, '1e38', []],
  ])('by %j: %s', (schema, text, wrong) => expect(causes(schema, text)).toEqual(wrong));
});

describe('an update', () => {
  const port = { type: 'object', properties: { port: { type: 'integer' }, name: { type: 'string', maxLength: 1 } } };
  const keyed = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['port'], items: port };
  const plain = { type: 'array', items: port };
  const tooLong = (place: string): string => `${place}: Too long: may not be more than 1 byte`;

  test.each<[string, WrittenSchema, string, string, readonly string[]]>([
    [
      'of another member',
      { type: 'object', properties: { a: { type: 'integer' }, b: {} } },
      '{"a":"x","b":1}',
      '{"a":"x","b":2}',
      [],
    ],
    ['of another entry with a key', keyed, '[{"port":1,"name":"xx"}]', '[{"port":2},{"port":1,"name":"xx"}]', []],
    ['of the entry', keyed, '[{"port":1,"name":"xx"}]', '[{"port":1,"name":"yy"}]', [tooLong('spec[0].name')]],
    [
      'of a list without keys',
      plain,
      '[{"port":1,"name":"xx"}]',
      '[{"port":2},{"port":1,"name":"xx"}]',
      [tooLong('spec[1].name')],
    ],
    ['of nothing', plain, '[{"name":"xx"}]', '[{"name":"xx"}]', []],
    [
      'that adds duplicates to others',
      { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      '["a","a"]',
      '["a","a","b","b"]',
      [],
    ],
    [
      'that adds duplicates',
      { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      '["a"]',
      '["a","a","a"]',
      ['spec[1]: Duplicate value: "a"'],
    ],
    [
      'that adds an entry without keys',
      keyed,
      '[{"port":1}]',
      '[{"port":1},"a",["b"]]',
      [
        'spec[1]: Invalid value: "string": spec[1] in body must be of type object: "string"',
        'spec[2]: Invalid value: "array": spec[2] in body must be of type object: "array"',
        'spec[1]: Invalid value: "a": must be an object for an array of list-type map',
      ],
    ],
  ])('%s is judged by what it changes', (_, schema, before, after, wrong) =>
    expect(causes(schema, after, before)).toEqual(wrong),
  );
});

test('of many errors the first are listed, also of an alternative, and the others counted', () => {
  const schema = schemaOf({
    type: 'array',
    anyOf: [{ items: { minimum: 1 } }],
    items: { type: 'integer', maximum: -1 },
  });
  const problems = new Problems();
  const value = read(schema, JSON.stringify(Array.from({ length: 1000 }, () => 0)));
  runSync(validateValue(schema, value, undefined, problems));
  expect([problems.errors.length, problems.count]).toEqual([100, 2001]);
});

test('many values and alternatives are validated in steps', () => {
  const steps = (count: number): number => {
    const alternatives = Array.from({ length: 50 }, (_, index) => ({ items: { minimum: index + 1 } }));
    const schema = schemaOf({ type: 'array', items: { type: 'integer' }, anyOf: alternatives });
    const value = read(schema, JSON.stringify(Array.from({ length: count }, () => 0)));
    const task = validateValue(schema, value, undefined, new Problems());
    let taken = 0;
    while (!task.next().done) taken++;
    return taken;
  };
  expect(steps(1000)).toBeGreaterThan(190);
  expect(steps(2000)).toBeLessThan(2.1 * steps(1000));
});

const json = anyObject({
  values: [anyString(), integer(), anyBoolean(), anyDouble({ noNaN: true, noDefaultInfinity: true })],
  maxDepth: 2,
});
const written: WrittenSchema = {
  type: 'object',
  properties: {
    a: { type: 'string', minLength: 1, pattern: '^a' },
    b: { type: 'integer', minimum: 0, multipleOf: 2, nullable: true },
    c: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, maxItems: 2, 'x-kubernetes-list-type': 'set' },
    d: { type: 'object', additionalProperties: { type: 'number' }, minProperties: 1, not: { required: ['x'] } },
    e: { oneOf: [{ minLength: 2 }, { maximum: 3 }], 'x-kubernetes-preserve-unknown-fields': true },
    f: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
  },
  required: ['a'],
};
const value = oneof(json, array(json), integer(), anyString(), anyBoolean(), array(anyString()));
const spec = dictionary(constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), value);

test('values of any form are judged, and what stays as it was is not', () => {
  assert(
    property(spec, (one) => {
      const text = JSON.stringify(one);
      expect(causes(written, text)).toEqual(expect.any(Array));
      expect(causes(written, text, text).filter((cause) => !cause.includes('Duplicate'))).toEqual([]);
    }),
    { seed: 1 },
  );
});

test('an update is never judged more strictly than a create', () => {
  assert(
    property(spec, spec, (before, after) => {
      const [all, changed] = [
        causes(written, JSON.stringify(after)),
        causes(written, JSON.stringify(after), JSON.stringify(before)),
      ];
      expect(all).toEqual(expect.arrayContaining(changed));
    }),
    { seed: 1 },
  );
});

test('unchanged values are those that are equal', () => {
  assert(
    property(json, json, anyBoolean(), (left, right, same) => {
      const other: unknown = same ? structuredClone(left) : right;
      const unchanged = new UnchangedValues();
      expect(unchanged.has(undefined, left, other)).toBe(sameJson(left, other));
      expect(unchanged.has(undefined, left, other)).toBe(sameJson(left, other));
      expect(unchanged.has(undefined, left, right)).toBe(sameJson(left, right));
    }),
    { seed: 1 },
  );
  expect(new UnchangedValues().has(undefined, { a: 1 }, { b: 1 })).toBe(false);
});

test('entries with keys may change their order', () => {
  const entries = list(structural([['k', string]]), { keys: ['k'] });
  const [one, other] = [{ k: 'a' }, { k: 'b', l: 1 }];
  const has = (schema: Schema, value: unknown, current: unknown): boolean =>
    new UnchangedValues().has(schema, value, current);
  expect(has(entries, [one, other], [other, one])).toBe(true);
  expect(has(structural([['l', entries]]), { l: [one, other] }, { l: [other, one] })).toBe(true);
  expect(has(entries, [one, other], [{ ...other, l: 2 }, one])).toBe(false);
  expect(has(entries, [one, {}], [{}, one])).toBe(false);
  expect(has(list(string, 'set'), ['a', 'b'], ['b', 'a'])).toBe(false);
  expect(has(list(entries, 'atomic'), [[one, other]], [[other, one]])).toBe(false);
});

test('numbers are compared exactly', () => {
  const order = (left: Integer, right: Integer): number => Math.sign(compareNumbers(left, right));
  assert(
    property(bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), bigInt({ min: -3n, max: 3n }), (one, by) => {
      const other = one + by;
      expect(order(integerOf(one), integerOf(other))).toBe(by > 0n ? -1 : by < 0n ? 1 : 0);
    }),
    { seed: 1 },
  );
  expect([order(1.5, 2), order(2, 1.5), order(-0.5, -0.5)]).toEqual([-1, 1, 0]);
});

test('what is no object has one error', () => {
  assert(
    property(
      anything().filter((one) => typeof one === 'string' || typeof one === 'boolean'),
      (one) => {
        expect(causes({ type: 'object' }, JSON.stringify(one))).toHaveLength(1);
      },
    ),
    { seed: 1 },
  );
});
