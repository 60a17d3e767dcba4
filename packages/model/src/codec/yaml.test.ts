import { describe, expect, test } from '@jest/globals';
import { duplicatesCharactersMax } from '../json/json-scan.ts';
import { MalformedTextError } from '../json/json.ts';
import { parseYaml, YamlTooLargeError, yamlBytesMax } from './yaml.ts';
import { formatYaml } from './yaml-format.ts';

const value = (text: string): unknown => parseYaml(text).value;

test('a body as people write it', () => {
  expect(value('metadata:\n  name: a\n  labels: {k: v, n: "1"}\nsecrets:\n- name: s1\n- name: s2\n')).toEqual({
    metadata: { name: 'a', labels: { k: 'v', n: '1' } },
    secrets: [{ name: 's1' }, { name: 's2' }],
  });
});

test.each([
  ['yes is true, as the clients of the API read it', 'a: yes', { a: true }],
  ['a date stays a text', 'a: 2001-01-01', { a: '2001-01-01' }],
  ['a quoted number stays a text', 'a: "7"', { a: '7' }],
  ['nothing is null', 'a:', { a: null }],
  ['an empty document is null', '', null],
  ['a number is a key like any other', '7: x', { '7': 'x' }],
  ['of several documents the first counts', 'a: 1\n---\nb: 2\n', { a: 1 }],
  [
    'a merge fills what the map does not say itself',
    'b: &b {x: 1, y: 1}\nc:\n  <<: *b\n  y: 2\n',
    { b: { x: 1, y: 1 }, c: { y: 2, x: 1 } },
  ],
  ['a quoted merge key is a key', 'c:\n  "<<": 1\n', { c: { '<<': 1 } }],
  ['a block ends with a line break', 'a: |\n  x\n', { a: 'x\n' }],
  ['a block ends without a line break where the text does', 'a: |\n  x\n  y', { a: 'x\ny' }],
  ['a folded block ends without a line break where the text does', 'a: >\n  x\n  y', { a: 'x y' }],
  ['blanks after a block are no part of it', 'a: |\n  x\n  ', { a: 'x\n' }],
  ['a character in two escapes', '{"a": "\\ud83d\\ude00"}', { a: '😀' }],
  ['JSON is YAML', ' {"a": [1, {"b": null}]}', { a: [1, { b: null }] }],
])('%s', (_, text, expected) => {
  expect(value(text)).toEqual(expected);
});

test('a large number keeps its digits', () => {
  expect(JSON.stringify(value('a: 9007199254740993'))).toBe('{"a":9007199254740993}');
});

test('a duplicate key is reported with its line, and the last one counts', () => {
  const { value: parsed, faults } = parseYaml('a:\n  k: 1\n  k: 2\n');
  expect(parsed).toEqual({ a: { k: 2 } });
  expect(faults.map(({ message }) => message)).toEqual(['line 3: key "k" already set in map']);
});

test.each([
  ['of which one is in another, the inner one first', 'm:\n  a: 1\nm:\n  b: 1\n  b: 2\n', ['5: key "b"', '4: key "m"']],
  ['whose value begins on a later line', 'k: 1\nk:\n\n  - 2\n', ['4: key "k"']],
  ['whose value is a text in lines', 'k: 1\nk: |\n\n  a\n', ['2: key "k"']],
  ['whose value has an anchor', 'k: 1\nk: &a\n  x: 1\n', ['2: key "k"']],
  ['without a value', 'k: 1\nk:\nl: 1\n', ['2: key "k"']],
  ['that are numbers and booleans', '7: 1\n7: 2\non: 1\nyes: 2\n', ['2: key 7', '4: key true']],
  ['of a map that merges another', 'b: &b {x: 1}\nc:\n  <<: *b\n  x: 2\n', ['4: key "x"']],
  [
    'that a merge replaces',
    'b: &b\n  x: 1\n  2:\nc:\n  2: 1\n  x: {x: 1}\n  <<: *b\n  x: 2\n',
    ['2: key "x"', '3: key 2', '8: key "x"'],
  ],
  [
    'of several merged maps',
    'c:\n  <<:\n    - {x: 1}\n    - x: 2\n      y: 1\n    - y: 2\n',
    ['5: key "y"', '3: key "x"'],
  ],
  ['that come from a merged map', 'b: &b {x: 1}\nd: &d {<<: *b}\nc:\n  x: 1\n  <<: *d\n', ['1: key "x"']],
  ['without the same type', '1: a\n"1": b\ntrue: 1\n"true": 2\n', []],
  ['in JSON', '{"a": 1, "b": {"c": 1, "c": 2},\n "a": 2}', ['1: key "c"', '2: key "a"']],
])('duplicate keys %s are reported with the lines of their values', (_, text, expected) => {
  expect(parseYaml(text).faults.map(({ message }) => message)).toEqual(
    expected.map((fault) => `line ${fault} already set in map`),
  );
});

test('a merge replaces what the map said before', () => {
  expect(value('b: &b {x: 1, y: 1}\nd: &d {y: 2, z: 2}\nc:\n  x: 3\n  <<: [*b, *d]\n  z: 3\n')).toMatchObject({
    c: { x: 1, y: 1, z: 3 },
  });
});

test('JSON has the numbers of YAML, unless it is larger than YAML may be', () => {
  expect(value('{"a": 1e2, "b": 1.0, "c": 9007199254740993}')).toEqual(value('a: 1e2\nb: 1.0\nc: 9007199254740993\n'));
  expect(value('{"a": 1e2}')).toEqual({ a: 100 });
  const large = parseYaml(`{"a": "${'x'.repeat(yamlBytesMax)}", "b": 1e2, "b": 1}`);
  expect(large.faults.map(({ message }) => message)).toEqual(['duplicate field "b"']);
});

test('__proto__ is plain data, merged or not', () => {
  for (const text of ['__proto__: {polluted: true}', 'a: &a {__proto__: {polluted: true}}\nb: {<<: *a}']) value(text);
  expect(Object.keys(value('__proto__: {x: 1}') as object)).toEqual(['__proto__']);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

describe('input that would block the event loop is rejected', () => {
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x,x]',
    ...'bcdefghi'.split('').map((name, i) => `${name}: &${name} [${Array(10).fill(`*${'abcdefgh'[i]}`).join(',')}]`),
  ].join('\n');
  test.each([
    ['aliases of aliases', bomb],
    ['an alias of itself', 'a: &a [*a]'],
    ['deeply nested flow maps', '{'.repeat(2000) + '}'.repeat(2000)],
    ['deeply nested lists', '- '.repeat(2000)],
    ['unended nesting', '['.repeat(50_000)],
    ['maps as keys', '{{a: 1}: 2}'],
    ['an unknown alias', 'a: *nobody'],
    ['null as a key', '? : 1'],
    ['a merge of a number', 'a:\n  <<: 7\n'],
    ['infinity', 'a: .inf'],
    ['half of a character', 'a: "\\ud800"'],
    ['an escape beyond Unicode', 'a: "\\U00110000"'],
    ['bytes that are not in base64', 'a: !!binary _-8='],
    ['bytes without padding', 'a: !!binary aGk'],
    ['a tab for a space', 'a:\n\t- b'],
  ])('%s', (_, text) => {
    expect(() => parseYaml(text)).toThrow(MalformedTextError);
  });

  test('a text beyond the limit', () => {
    expect(() => parseYaml(`a: ${'x'.repeat(yamlBytesMax)}`)).toThrow(YamlTooLargeError);
    const long = 'x'.repeat(1_000);
    for (const part of [`- ${long}\n`, `- |\n  ${long}\n`, `${long}\n`])
      expect(() => parseYaml(part.repeat(70))).toThrow(YamlTooLargeError);
    for (const begin of ['a: {\n', '"'])
      expect(() => parseYaml(`${begin}${` b: ${long},\n`.repeat(70)}`)).toThrow(YamlTooLargeError);
  });

  test('a text beyond the limit whose first lines are malformed', () => {
    expect(() => parseYaml(`\n\ta: b\n\tc: d\n\te: ${'['.repeat(yamlBytesMax)}`)).toThrow(MalformedTextError);
    expect(() => parseYaml(`a: b\n- c\nd: e\nf: ${'x'.repeat(yamlBytesMax)}`)).toThrow(MalformedTextError);
  });
});

test('an alias refers to the last anchor of its name before it', () => {
  expect(value('a: &x 1\nb: *x\nc: &x 2\nd: *x\ne: [&x 3, *x, {f: &x 4}, *x]')).toEqual({
    a: 1,
    b: 1,
    c: 2,
    d: 2,
    e: [3, 3, { f: 4 }, 4],
  });
});

test('a text full of aliases is walked through once and not once for each', () => {
  const aliases = 20_000; // as many walks through as many nodes would take a minute
  expect(value(`a: &a x\nb: [${new Array(aliases).fill('*a').join(',')}]`)).toEqual({
    a: 'x',
    b: new Array(aliases).fill('x'),
  });
});

test.each([
  ['octal', 'a: 0755', 493],
  ['hexadecimal', 'a: 0x1F', 31],
  ['hexadecimal with a capital letter', 'a: 0X1f', 31],
  ['binary with a capital letter', 'a: -0B11', -3],
  ['octal with a capital letter', 'a: 0O17', 15],
  ['underscores', 'a: 1_000', 1000],
  ['a leading plus', 'a: +7', 7],
  ['a fraction', 'a: .5', 0.5],
  ['no base of sixty', 'a: 1:30', '1:30'],
  ['no date with a zone', 'a: 2001-01-01T00:00:00Z', '2001-01-01T00:00:00Z'],
  ['a number tagged as a string', 'a: !!str 7', '7'],
  ['a quoted number tagged as a number', 'a: !!int "7"', 7],
  ['bytes that are a text', 'a: !!binary aGk=', 'hi'],
  ['bytes in lines', 'a: !!binary |\n  aG\n  k=\n', 'hi'],
  ['bytes that are no text', 'a: !!binary gICA', '\ufffd\ufffd\ufffd'],
  ['no bytes', 'a: !!binary', ''],
  ['an unknown tag', 'a: !mine 7', '7'],
  ['the name of a function of every object', 'a: toString', 'toString'],
])('%s', (_, text, expected) => {
  expect(value(text)).toEqual({ a: expected });
});

test('merges, anchors and keys with the names of the prototype are plain data', () => {
  const text = 'constructor: &toString {hasOwnProperty: 1}\nb:\n  <<: *toString\n  valueOf: 2\n';
  expect(value(text)).toEqual({ constructor: { hasOwnProperty: 1 }, b: { hasOwnProperty: 1, valueOf: 2 } });
  expect(parseYaml('toString: 1\nvalueOf: 2\n').faults).toEqual([]);
});

test('a long text that aliases repeat is refused before it is repeated', () => {
  const text = `a: &a ${'x'.repeat(30_000)}\nb: [${new Array(100).fill('*a').join(',')}]`;
  expect(() => parseYaml(text)).toThrow('excessive aliasing');
});

test('aliases do not lead deeper than a text may', () => {
  const level = (name: string, inner: string): string =>
    `${name}: &${name} ${'['.repeat(300)}${inner}${']'.repeat(300)}`;
  expect(() => parseYaml(`${level('a', 'x')}\n${level('b', '*a')}`)).toThrow('nested deeper');
});

test('duplicate keys are named as long as their names are not too many', () => {
  expect(parseYaml('k: 1\n'.repeat(500)).faults).toHaveLength(499);
  const many = parseYaml('k: 1\n'.repeat(10_000)).faults;
  expect(many.reduce((sum, { message }) => sum + message.length, 0)).toBeLessThan(duplicatesCharactersMax + 100);
});

test('a value nested deeply is written in one line from some depth on, and read as the same', () => {
  let deep: unknown = 'end';
  for (let level = 0; level < 400; level++) deep = level % 2 ? [deep] : { a: deep };
  const text = formatYaml(deep);
  expect(value(text)).toEqual(deep);
  expect(text.length).toBeLessThan(10_000);
});

test('thousands of levels are written without an end of the stack', () => {
  const deep = JSON.parse(`${'{"f:a":'.repeat(3200)}{}${'}'.repeat(3200)}`) as unknown;
  expect(() => formatYaml({ metadata: { managedFields: [{ fieldsV1: deep }] } })).not.toThrow();
});

test('formatted YAML is parsed to the same value', () => {
  const object = {
    a: 'yes',
    b: '1',
    c: true,
    d: null,
    e: ['x: y', '- z', ''],
    f: { '': 'é中😀' },
    g: '2001-01-01',
    h: 'line\nline\n',
    i: [
      'a\n\n',
      'a\n b\n',
      ' a\nb',
      'a\tb\n',
      '\n',
      'a\rb\n',
      '# a',
      'a #b',
      'a: b',
      'a:',
      'a:b',
      '-',
      '- a',
      '%a',
      '@',
    ],
    j: ['0x1', '1_0', '.inf', '~', 'null', 'Off', 'y', '<<', '!a', '&a', '*a', '|', '>', '{', '[', "'", '"', '`', '\\'],
    k: [[], {}, [[]], [[1], [{ a: [{}] }]], [{ a: { b: 1 }, c: [2] }]],
    l: ['\u0085\u2028\ufeff\u007f\u0001', 'a\n\u2028', 'trailing ', '--- a\n--- b', '...'],
    [`k${'e'.repeat(2000)}y`]: { a: 1 },
    'key: with # signs': { '<<': 1 },
  };
  expect(value(formatYaml(object))).toEqual(object);
});
