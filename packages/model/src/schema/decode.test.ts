import { describe, expect, test } from '@jest/globals';
import { rawNumber } from '../json/raw-number.ts';
import { formatPath, Problems } from '../problems.ts';
import { decode, WrongTypeError } from './decode.ts';
import {
  any,
  boolean,
  double,
  field,
  jsonField,
  int32,
  int64,
  intOrString,
  list,
  microTime,
  object,
  quantity,
  type Schema,
  string,
  stringMap,
  time,
} from './schema.ts';

const schema = object({
  text: jsonField(string, ''),
  flag: jsonField(boolean, '', 'given'),
  small: jsonField(int32, ''),
  large: jsonField(int64, ''),
  when: jsonField(time, '', 'always'),
  exact: jsonField(microTime, ''),
  labels: jsonField(stringMap, ''),
  inner: jsonField(object({ name: jsonField(string, '') }), '', 'always'),
  entries: jsonField(list(object({ name: jsonField(string, '') }), 'atomic'), ''),
  words: jsonField(list(string, 'set'), ''),
  free: jsonField(any, ''),
  ratio: jsonField(double, '', 'given'),
  port: jsonField(intOrString, '', 'given'),
  size: jsonField(quantity, '', 'given'),
});

const canonical = (value: unknown): string => JSON.stringify(decode(schema, value, () => {}));

test('fields are in the order of the schema, and empty ones are left out', () => {
  expect(
    canonical({ words: ['a'], small: 0, text: '', labels: {}, entries: [], flag: false, inner: { name: 'n' } }),
  ).toBe('{"flag":false,"when":null,"inner":{"name":"n"},"words":["a"]}');
});

test('canonical values stay as they are', () => {
  const once = canonical({
    large: 5,
    labels: { b: '1', a: '2' },
    when: '2026-01-01T01:00:00+01:00',
    entries: [null, { name: 'x' }],
    free: { deep: [1] },
  });
  expect(canonical(JSON.parse(once))).toBe(once);
});

test('null is the zero value inside lists and maps, and nothing elsewhere', () => {
  expect(
    canonical({
      text: null,
      flag: null,
      small: null,
      labels: { a: null },
      words: [null],
      entries: [null],
      inner: null,
    }),
  ).toBe('{"when":null,"labels":{"a":""},"inner":{},"entries":[{}],"words":[""]}');
});

test('a field that is null if it is empty is always shown', () => {
  const nullable = object({
    rules: jsonField(list(string, 'atomic'), '', 'nullIfEmpty'),
    when: jsonField(time, '', 'nullIfEmpty'),
  });
  const shown = (value: object): string => JSON.stringify(decode(nullable, value, () => {}));
  for (const rules of [undefined, null, []]) expect(shown({ rules })).toBe('{"rules":null,"when":null}');
  expect(shown({ rules: [''], when: '2026-01-01T00:00:00Z' })).toBe('{"rules":[""],"when":"2026-01-01T00:00:00Z"}');
  expect(shown(JSON.parse(shown({})) as object)).toBe(shown({}));
  expect(() => shown({ rules: 'a' })).toThrow(WrongTypeError);
});

test.each<[object, object]>([
  [{ ratio: rawNumber('1.0') }, { ratio: 1 }],
  [{ ratio: rawNumber('-0.0') }, { ratio: 0 }],
  [{ ratio: rawNumber('1e3') }, { ratio: 1000 }],
  [{ port: '' }, { port: '' }],
  [{ port: 0 }, { port: 0 }],
  [{ size: ' 2048Mi ' }, { size: '2Gi' }],
  [{ size: 5000 }, { size: '5k' }],
  [{ size: rawNumber('2.50e9') }, { size: '2500e6' }],
])('%j becomes %j', (given, shown) => {
  expect(decode(schema, given, () => {})).toMatchObject(shown);
});

test('unknown fields are reported with their path and dropped', () => {
  const unknown: string[] = [];
  decode(
    schema,
    {
      colour: 1,
      inner: { size: 1 },
      entries: [{}, { size: 1 }],
      Text: 'x',
      ['__proto__']: { text: 'y' },
      constructor: 1,
    },
    (path) => unknown.push(formatPath(path)),
  );
  expect(unknown.sort()).toEqual(['Text', '__proto__', 'colour', 'constructor', 'entries[1].size', 'inner.size']);
});

test('within a value of one of two types unknown fields are dropped silently, and a list has no other texts', () => {
  const part = object({ size: field(1, int32, 'A size.') });
  const either = (other: Schema) => ({ ...part, otherwise: { schema: other, number: 2, objectNumber: 1 } });
  const held = object({
    parts: field(1, either(list(part, 'atomic')), 'One or more.', 'given'),
    flag: field(2, either(boolean), 'One or any.', 'given'),
  });
  const read = (value: object): readonly unknown[] => {
    const unknown: string[] = [];
    return [decode(held, value, (path) => unknown.push(formatPath(path))), unknown];
  };
  expect(read({ parts: [{ size: 1, colour: 2 }], flag: { colour: 2 }, colour: 2 })).toEqual([
    { parts: [{ size: 1 }], flag: {} },
    ['colour'],
  ]);
  expect(read({ parts: 'x', flag: true })).toEqual([{ flag: true }, []]);
  expect(() => read({ flag: 'x' })).toThrow('flag: expected true or false');
});

test.each<[string, object, string]>([
  ['a number for a string', { text: 7 }, 'text: expected a string, got a number'],
  ['a string for a boolean', { flag: 'true' }, 'flag: expected true or false, got a string'],
  ['a string for a number', { small: '1' }, 'small: expected a whole number, got a string'],
  ['a fraction', { small: 1.5 }, 'small: expected a whole number without a fraction or an exponent, got 1.5'],
  [
    'an exponent',
    { small: rawNumber('1e2') },
    'small: expected a whole number without a fraction or an exponent, got 1e2',
  ],
  ['a million digits', { small: rawNumber('9'.repeat(1e6)) }, `small: ${'9'.repeat(32)}… does not fit into int32`],
  ['a number beyond 32 bits', { small: 2 ** 31 }, 'small: 2147483648 does not fit into int32'],
  ['a text for a double', { ratio: '1' }, 'ratio: expected a number, got a string'],
  [
    'a number beyond all doubles',
    { ratio: rawNumber('1e999') },
    'ratio: the number is beyond those that a double can hold',
  ],
  ['a boolean for a port', { port: true }, 'port: expected a whole number or a string, got a boolean'],
  ['a port beyond 32 bits', { port: 2 ** 31 }, 'port: 2147483648 does not fit into int32'],
  ['an object for a quantity', { size: {} }, 'size: expected a quantity, got an object'],
  ['a text that is no quantity', { size: '1x' }, 'size: "1x" is not a quantity like 500m or 1.5Gi'],
  ['a list for a map', { labels: [] }, 'labels: expected an object of strings, got a list'],
  ['a number in a map', { labels: { a: 1 } }, 'labels.a: expected a string, got a number'],
  ['an object for a list', { entries: {} }, 'entries: expected a list, got an object'],
  ['a string for an entry', { entries: [{}, 'x'] }, 'entries[1]: expected an object, got a string'],
  ['a list for an object', { inner: [] }, 'inner: expected an object, got a list'],
  ['a text that is no time', { when: 'soon' }, 'when: "soon" is not a time like 2026-01-31T12:00:00Z'],
])('%s is refused by its path', (_, value, message) => {
  const act = (): unknown => decode(schema, value, () => {});
  expect(act).toThrow(WrongTypeError);
  expect(act).toThrow(expect.objectContaining({ message }));
});

describe('for a file', () => {
  const even = {
    ...int32,
    validate: (value: unknown, at: Problems) => void (Number(value) % 2 && at.report('is odd')),
  };
  const part = object({
    name: { ...jsonField(string, '', 'required'), missing: 'name it' },
    even: jsonField(even, '', 'given'),
    mode: jsonField(
      {
        ...string,
        rules: { enum: ['on', 'off'] },
        validate: (_: unknown, at: Problems) => void at.report('wrong mode'),
      },
      '',
      'given',
    ),
    time: jsonField({ ...string, default: '3s' }, '', 'always'),
  });
  const file = object({
    parts: jsonField(
      list({ ...part, validate: (_: unknown, at: Problems) => void at.report('validated') }, 'atomic'),
      '',
      'required',
    ),
    inner: jsonField(part, '', 'required'),
  });
  const read = (value: unknown) => {
    const found: string[] = [];
    const problems = new Problems({
      errors: [],
      count: 0,
      take: (path, message) => found.push(`${formatPath(path)}: ${message}`),
    });
    const decoded = decode(file, value, (path) => found.push(`unknown ${formatPath(path)}`), { problems });
    return { decoded, found };
  };

  test('all problems are found, and values of the right types take the places of wrong ones', () => {
    const { decoded, found } = read({
      more: 1,
      parts: [7, null, { name: '', even: 'x', time: null }, { name: 'a', even: 3, mode: 'up' }, { name: 'b' }],
    });
    expect(found).toEqual([
      'unknown more',
      'parts[0]: expected an object, got a number',
      'parts[1].name: name it',
      'parts[2].name: name it',
      'parts[2].even: expected a whole number, got a string',
      'parts[3].even: is odd',
      'parts[3].mode: wrong mode',
      'parts[4]: validated',
      'inner: Required value',
    ]);
    const empty = { name: '', time: '3s' };
    expect(decoded).toEqual({
      parts: [
        empty,
        empty,
        { ...empty, even: 0 },
        { ...empty, name: 'a', even: 3, mode: 'on' },
        { ...empty, name: 'b' },
      ],
      inner: empty,
    });
  });

  test('what is no object is one problem', () => {
    expect(read('x')).toEqual({
      found: [': expected an object, got a string'],
      decoded: { parts: [], inner: { name: '', time: '3s' } },
    });
  });

  test('elsewhere a missing field is an error', () => {
    expect(() => decode(file, { parts: [] }, () => {})).toThrow('parts: Required value');
  });
});
