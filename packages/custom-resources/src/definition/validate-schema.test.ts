import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { formatPath, Problems } from '@cluster-apiserver/model';
import type { JsonSchema } from '../schema/json-schema.ts';
import { validateSchema } from './validate-schema.ts';

function errorsOf(schema: JsonSchema, hasStatus = false): string[] {
  const problems = new Problems();
  runSync(validateSchema(schema, { hasStatus, isStored: false }, problems));
  return problems.errors.map(({ path, message }) => `${formatPath(path)}: ${message}`);
}

const withField = (f: JsonSchema): JsonSchema => ({ type: 'object', properties: { f } });
const fieldErrorsOf = (f: JsonSchema): string[] =>
  errorsOf(withField(f)).map((text) => text.replace('properties[f]', 'f'));

const text: JsonSchema = { type: 'string' };
const integerOrText = { 'x-kubernetes-int-or-string': true } as const;

describe('a field is refused', () => {
  test.each<[string, JsonSchema, string[]]>([
    ['without a type', {}, ['f.type: Required value: must not be empty for specified object fields']],
    [
      'with values without a type',
      { type: 'object', additionalProperties: {} },
      ['f.additionalProperties.type: Required value: must not be empty for specified object fields'],
    ],
    [
      'with entries without a type',
      { type: 'array', items: {} },
      ['f.items.type: Required value: must not be empty for specified array items'],
    ],
    ['as a list without items', { type: 'array' }, ['f.items: Required value: must be specified']],
    [
      'with properties and additionalProperties',
      { type: 'object', properties: { a: text }, additionalProperties: text },
      ['f.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive'],
    ],
    [
      'with an unknown type',
      { type: 'int' },
      [
        'f.type: Unsupported value: "int": supported values: "array", "boolean", "integer", "number", "object", "string"',
      ],
    ],
    [
      'with a pattern that looks ahead',
      { type: 'string', pattern: '^(?!x)' },
      [
        `f.pattern: Invalid value: "^(?!x)": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: \`(?!\``,
      ],
    ],
    [
      'with types under anyOf',
      { type: 'string', anyOf: [{ type: 'string' }, { description: 'd', nullable: true }] },
      [
        'f.anyOf[0].type: Forbidden: must be empty to be structural',
        'f.anyOf[1].description: Forbidden: must be empty to be structural',
        'f.anyOf[1].nullable: Forbidden: must be false to be structural',
      ],
    ],
    [
      'as a text or an integer in this order',
      { ...integerOrText, anyOf: [{ type: 'string' }, { type: 'integer' }] },
      [
        'f.anyOf[0].type: Forbidden: must be empty to be structural',
        'f.anyOf[1].type: Forbidden: must be empty to be structural',
      ],
    ],
    [
      'as an embedded resource that is no object and keeps nothing',
      { type: 'array', items: text, 'x-kubernetes-embedded-resource': true },
      [
        'f.properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
        'f.type: Invalid value: "array": must be object if x-kubernetes-embedded-resource is true',
      ],
    ],
    [
      'as a map of entries without keys',
      { type: 'array', items: { type: 'object', properties: { a: text } }, 'x-kubernetes-list-type': 'map' },
      ['f.x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map'],
    ],
    [
      'as a map of entries with keys that may be absent, null or lists, or are not described',
      {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['a', 'b', 'c', 'constructor'],
        items: {
          type: 'object',
          properties: { a: text, b: { ...text, nullable: true }, c: { type: 'array', items: text } },
          required: ['b', 'c'],
        },
      },
      [
        `f.items.properties[c].type: Invalid value: "object": must be a scalar type if parent array's x-kubernetes-list-type is map`,
        'f.x-kubernetes-list-map-keys: Invalid value: ["a","b","c","constructor"]: entries must all be names of item properties',
        'f.items.properties[a].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
        'f.items.properties[b].nullable: Forbidden: this property is in x-kubernetes-list-map-keys, so it cannot be nullable',
      ],
    ],
    [
      'as a set of objects with several owners',
      { type: 'array', items: { type: 'object', properties: { a: text } }, 'x-kubernetes-list-type': 'set' },
      [
        'f.items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set',
      ],
    ],
    [
      'with a reference, which hides all other faults of structure',
      { type: 'object', properties: { a: { $ref: '#/x' }, b: {} } },
      ['f.properties[a].$ref: Forbidden: $ref is not supported'],
    ],
    [
      'with another dialect',
      { type: 'string', $schema: 'x' },
      [': Invalid value: "": OpenAPIV3Schema \'schema\' is not supported'],
    ],
  ])('%s', (_, schema, errors) => {
    expect(fieldErrorsOf(schema)).toEqual(errors);
  });
});

test.each<[string, JsonSchema]>([
  ['a field that keeps everything', { 'x-kubernetes-preserve-unknown-fields': true }],
  ['an integer or a text', integerOrText],
  ['an integer or a text that says so', { ...integerOrText, anyOf: [{ type: 'integer' }, { type: 'string' }] }],
  [
    'one that also has a pattern',
    { ...integerOrText, allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: 'x' }] },
  ],
  [
    'below the root, a union of fields that are not described',
    { type: 'object', anyOf: [{ required: ['a'] }, { properties: { b: { minLength: 1 } } }] },
  ],
  ['contradicting bounds', { type: 'integer', minimum: 3, maximum: 1, enum: ['a'] }],
  [
    'any members beside those that are described',
    { type: 'object', properties: { a: text }, additionalProperties: true },
  ],
])('%s is accepted', (_, schema) => {
  expect(fieldErrorsOf(schema)).toEqual([]);
});

test('rules are compiled beside what is refused, and not around it', () => {
  const rules = [{ rule: 'self.x' }];
  const ruled = (more: JsonSchema): JsonSchema => ({ ...more, 'x-kubernetes-validations': rules });
  const refused: JsonSchema = { type: 'object', properties: { b: { type: 'int' } } };
  const places = (f: JsonSchema): string[] => fieldErrorsOf(f).map((error) => error.split(': ', 1).join());
  const rule = 'x-kubernetes-validations[0].rule';
  expect(places(ruled({ type: 'object', properties: { a: ruled(text), ab: ruled(refused) } }))).toEqual([
    'f.properties[ab].properties[b].type',
    `f.properties[a].${rule}`,
  ]);
  expect(places({ type: 'object', properties: { a: ruled(text), b: {} } })).toEqual(['f.properties[b].type']);
  expect(places(ruled({ type: 'string', 'x-kubernetes-list-type': 'set' }))).toEqual(['f.type']);
});

describe('a root is refused', () => {
  test.each<[string, JsonSchema, string[]]>([
    ['as a text', text, ['type: Invalid value: "string": must be object at the root']],
    [
      'that may be null',
      { type: 'object', nullable: true },
      ['nullable: Forbidden: nullable cannot be true at the root'],
    ],
    [
      'with metadata besides its names',
      { type: 'object', properties: { metadata: { type: 'object', properties: { name: text, labels: text } } } },
      [
        'properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified',
      ],
    ],
    [
      'that checks what it does not describe',
      {
        type: 'object',
        properties: { a: { type: 'array', items: text } },
        anyOf: [{ properties: { b: { minLength: 1 } } }, { properties: { a: { items: { items: { minLength: 1 } } } } }],
      },
      [
        'properties[a].items.items: Required value: because it is defined in anyOf[1].properties[a].items.items',
        'properties[b]: Required value: because it is defined in anyOf[0].properties[b]',
      ],
    ],
    [
      'with defaults of what every object has',
      { type: 'object', properties: { kind: { type: 'string', default: 'Thing' } } },
      ['properties[kind].default: Forbidden: must not be set in top-level kind'],
    ],
  ])('%s', (_, schema, errors) => {
    expect(errorsOf(schema)).toEqual(errors);
  });

  test('with a union, if the status has a path of its own', () => {
    const schema: JsonSchema = { type: 'object', properties: { a: text }, anyOf: [{ required: ['a'] }] };
    expect(errorsOf(schema)).toEqual([]);
    expect(errorsOf(schema, true)).toEqual([
      expect.stringMatching(
        /: only \[Description Type .* Example XPreserveUnknownFields XValidations\] fields are allowed at the root of the schema if the status subresource is enabled$/,
      ),
    ]);
  });
});

describe('a default is refused', () => {
  test.each<[string, JsonSchema, string[]]>([
    [
      'beyond a bound',
      { type: 'integer', maximum: 5, default: 6 },
      ['f.default: Invalid value: 6:  in body should be less than or equal to 5'],
    ],
    [
      'of another form than its type has',
      { type: 'integer', default: 1e300 },
      [
        'f.default: Invalid value: "number":  in body must be of type integer: "number"',
        'f.default: Invalid value: "": Checked value must be of type integer (default format) in ',
      ],
    ],
    [
      'without a field that has a default itself',
      { type: 'object', properties: { a: { type: 'string', default: 'x' } }, required: ['a'], default: {} },
      ['f.default.a: Required value'],
    ],
    [
      'with null',
      { type: 'object', properties: { a: text }, default: { a: null } },
      ['f.default.a: Invalid value: "null": a in body must be of type string: "null"'],
    ],
    [
      'with a field that is not described',
      { type: 'object', properties: { a: text }, default: { b: 1 } },
      ['f.default: Invalid value: {"b":1}: must not have unknown fields'],
    ],
    [
      'in the metadata of an embedded resource, if these become invalid',
      {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        properties: { metadata: { type: 'object', properties: { namespace: { type: 'string', default: 'B N' } } } },
      },
      [
        `f.properties[metadata].properties[namespace].default: Invalid value: "B N": must result in valid metadata: metadata.namespace: Invalid value: "B N": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
      ],
    ],
  ])('%s', (_, schema, errors) => {
    expect(fieldErrorsOf(schema)).toEqual(errors);
  });
});

test.each<[string, JsonSchema]>([
  ['null', { type: 'object', properties: { a: { ...text, nullable: true } }, default: { a: null } }],
  [
    'metadata of an embedded resource that are dropped',
    {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      default: { apiVersion: 'v1', kind: 'Part', metadata: { name: 'a', unknown: 'b' } },
    },
  ],
  ['whatever a field keeps', { 'x-kubernetes-preserve-unknown-fields': true, default: { a: [1, { b: null }] } }],
  [
    'entries with the same key',
    {
      type: 'array',
      items: { type: 'object', properties: { a: text }, required: ['a'] },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['a'],
      default: [{ a: 'x' }, { a: 'x' }],
    },
  ],
])('a default may hold %s', (_, schema) => {
  expect(fieldErrorsOf(schema)).toEqual([]);
});

describe('no step of a hostile schema takes long', () => {
  const deep = (levels: number): JsonSchema =>
    levels === 0 ? text : { type: 'object', properties: { a: deep(levels - 1) }, default: {} };
  const wide = <T>(count: number, value: () => T): Record<string, T> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, value()]));
  const alternatives = Array.from({ length: 20_000 }, () => ({ minLength: 1 }));
  const patterns = Array.from({ length: 200 }, (_, index) => ({ pattern: `(\\pL{1,50}${index}){1,10}` }));
  test.each<[string, JsonSchema, string]>([
    [
      'properties',
      { type: 'object', properties: wide(2_001, () => text) },
      'f.properties: Too many: 2001: must have at most 2000 items',
    ],
    [
      'names of members that are required',
      { type: 'object', allOf: [{ required: Array.from({ length: 2_001 }, (_, index) => `r${index}`) }] },
      'f.allOf[0].required: Too many: 2001: must have at most 2000 items',
    ],
    [
      'values of a default',
      { 'x-kubernetes-preserve-unknown-fields': true, default: wide(25_001, () => 1) },
      'f.default: Forbidden: may not hold more than 25000 values',
    ],
  ])('because there is a limit of %s', (_, schema, error) => {
    expect(fieldErrorsOf(schema)).toEqual([error]);
  });

  test('and its patterns together are bounded', () => {
    const long = Array.from({ length: 60 }, (_, index) => ({ pattern: `${'a?'.repeat(4_900)}${index}` }));
    const errors = fieldErrorsOf({ type: 'string', anyOf: [...long, ...long] });
    expect(errors[0]).toMatch(/^f.anyOf\[\d+\].pattern: .* the patterns of the schema repeat too much$/);
    expect(errors.length).toBeLessThan(120);
    expect(
      fieldErrorsOf({ type: 'string', anyOf: Array.from({ length: 5_000 }, () => ({ pattern: 'a{1,999}' })) }),
    ).toEqual([]);
  });

  test.each<[string, JsonSchema]>([
    ['deep', deep(240)],
    ['wide', { type: 'object', properties: wide(10, () => ({ type: 'object', properties: wide(2_000, () => text) })) }],
    ['of a default', { 'x-kubernetes-preserve-unknown-fields': true, default: wide(1_000, () => ({ a: [1, {}] })) }],
    ['of alternatives', { type: 'string', allOf: alternatives, default: 'x' }],
    ['of patterns', { type: 'string', anyOf: patterns }],
  ])('%s', (_, schema) => {
    const problems = new Problems();
    const task = validateSchema(withField(schema), { hasStatus: false, isStored: false }, problems);
    let steps = 1;
    while (!task.next().done) steps++;
    expect(steps).toBeGreaterThan(1);
    expect(problems.errors).toEqual([]);
  });
});
