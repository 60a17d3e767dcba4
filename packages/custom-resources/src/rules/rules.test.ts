/** What kube-apiserver says about objects by the rules of their schema, as computed by its own packages. */
import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { formatPath, Problems } from '@cluster-apiserver/model';
import { compileSchema } from '../schema/compile-schema.ts';
import type { JsonSchema, ValidationRule } from '../schema/json-schema.ts';
import { compileRules } from './compile-rules.ts';
import type { RuleNode } from './rule-node.ts';
import { RuleBudget, validateDefaultByRules, validateRules } from './validate-rules.ts';

const text: JsonSchema = { type: 'string' };
const int: JsonSchema = { type: 'integer' };
const list = (items: JsonSchema, more: JsonSchema = {}): JsonSchema => ({ type: 'array', items, ...more });
const map = (additionalProperties: JsonSchema): JsonSchema => ({ type: 'object', additionalProperties });
const object = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({ type: 'object', properties });
const withRules = (schema: JsonSchema, ...rules: readonly (string | ValidationRule)[]): JsonSchema => ({
  ...schema,
  'x-kubernetes-validations': rules.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
});
const keyed = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'] };
const set = { 'x-kubernetes-list-type': 'set' };

const format = ({ errors }: Problems): readonly string[] =>
  errors.map(({ path, message }) => `${formatPath(path)}: ${message}`);

function compile(schema: JsonSchema): { readonly node: RuleNode | undefined; readonly problems: readonly string[] } {
  const problems = new Problems();
  const node = runSync(compileRules(runSync(compileSchema(schema)), problems.at('schema')));
  return { node, problems: format(problems) };
}

interface Found {
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** The rules are those of `spec` or of schemas in it. */
function validate(spec: JsonSchema, value: unknown, current?: unknown): Found {
  const { node, problems: compileProblems } = compile(object({ spec }));
  expect(compileProblems).toEqual([]);
  const problems = new Problems();
  const warnings: string[] = [];
  if (node)
    runSync(
      validateRules(node, { spec: value }, current === undefined ? undefined : { spec: current }, problems, (warning) =>
        warnings.push(warning),
      ),
    );
  return { problems: format(problems), warnings };
}

const described: JsonSchema = {
  type: 'object',
  properties: {
    s: text,
    n: int,
    x: { type: 'number' },
    b: { type: 'boolean' },
    l: list(text),
    i: list(int, { maxItems: 10 }),
    m: map(text),
    dt: { type: 'string', format: 'date-time' },
    d: { type: 'string', format: 'date' },
    du: { type: 'string', format: 'duration' },
    by: { type: 'string', format: 'byte' },
    ios: { 'x-kubernetes-int-or-string': true },
    nul: { type: 'string', nullable: true },
    nl: list({ type: 'string', nullable: true }),
    set: list(text, set),
    keyed: list(object({ k: text, v: int }), keyed),
    'a-b': int,
    'c.d': int,
    'e/f': int,
    namespace: int,
    a__b: int,
    type: text,
    free: { 'x-kubernetes-preserve-unknown-fields': true },
    part: { ...object({ k: text }), 'x-kubernetes-preserve-unknown-fields': true },
    embedded: {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
    deep: object({ a: object({ b: list(object({ c: int }), { maxItems: 9 }) }) }),
    ll: list(list(int)),
  },
};
const value = {
  s: 'text',
  n: 5,
  x: 2,
  b: true,
  l: ['a', 'b'],
  i: [3, 1, 2],
  m: { k: 'v', 'a.b': 'w' },
  dt: '2024-01-02t03:04:05.5000000001z',
  d: '2024-02-03',
  du: '3 weeks',
  by: 'aGVsbG8=',
  ios: '50%',
  nul: null,
  nl: ['a', null],
  set: ['x', 'y'],
  keyed: [
    { k: 'a', v: 1 },
    { k: 'b', v: 2 },
  ],
  'a-b': 1,
  'c.d': 2,
  'e/f': 3,
  namespace: 4,
  a__b: 5,
  type: 't',
  free: { q: 1 },
  part: { k: 'v', z: [1] },
  embedded: { apiVersion: 'v1', kind: 'K', metadata: { name: 'n', labels: { a: 'b' } }, x: 1 },
  deep: { a: { b: [{ c: 1 }, { c: 2 }] } },
  ll: [[1, 2], [3]],
};

describe('values have the types of their schema', () => {
  test.each([
    'self.s == "text" && self.n == 5 && self.b',
    'self.x == 2.0 && self.x > 1',
    'self.dt.getFullYear() == 2024 && self.dt.getMilliseconds() == 500',
    'self.d == timestamp("2024-02-03T00:00:00Z")',
    'self.du == duration("504h")',
    'self.by == b"hello"',
    'type(self.ios) == string && self.ios.startsWith("5")',
    '!has(self.nul) && self.?nul.orValue("z") == "z"',
    'self.nl.size() == 2 && self.nl[0] == "a"',
    'self.set == ["y", "x"] && ["y", "x"] != self.set',
    'self.set + ["y", "z"] == ["z", "y", "x"]',
    'self.keyed == [self.keyed[1], self.keyed[0]]',
    'self.keyed + self.keyed == self.keyed',
    'self.keyed != [self.keyed[1], self.keyed[1]]',
    'self.a__dash__b == 1 && self.c__dot__d == 2 && self.e__slash__f == 3',
    'self.__namespace__ == 4 && self.namespace == 4 && self.a__underscores__b == 5 && self.type == "t"',
    'self.part.k == "v" && self.part == self.part',
    'self.embedded.metadata.name == "n" && self.embedded.kind == "K" && self.embedded == self.embedded',
    'self.m.k == "v" && self.m["a.b"] == "w" && self.m.all(k, k.size() > 0)',
    'self.deep.a.b.map(e, e.c).sum() == 3',
    'self.ll == [[1, 2], [3]]',
    'self.i.sort() == [1, 2, 3]',
    'self == self',
  ])('%s', (rule) => {
    expect(validate(withRules(described, rule), value)).toEqual({ problems: [], warnings: [] });
  });

  test.each([
    ['self.free == 1', "undefined field 'free'"],
    ['self.part.z.size() == 1', "undefined field 'z'"],
    ['self.embedded.metadata.labels.size() > 0', "undefined field 'labels'"],
    ['self.embedded.x == 1', "undefined field 'x'"],
    ['self.x == 2', "found no matching overload for '_==_' applied to '(double, int)'"],
    ['self.s == null', "found no matching overload for '_==_' applied to '(string, null)'"],
  ])('%s does not compile', (rule, problem) => {
    expect(compile(object({ spec: withRules(described, rule) })).problems).toEqual([expect.stringContaining(problem)]);
  });

  test('the root has its names and no other metadata', () => {
    const root = withRules(object({ spec: object({}) }), 'self.metadata.name == "b" || self.kind == "K"');
    expect(compile(root).problems).toEqual([]);
    expect(compile(withRules(root, 'self.metadata.uid == ""')).problems).toEqual([
      expect.stringContaining("undefined field 'uid'"),
    ]);
  });

  test('large sets are made and compared in steps', () => {
    const { node } = compile(object({ spec: withRules(list(text, set), 'self == oldSelf', 'self != oldSelf') }));
    const words = Array.from({ length: 20_000 }, (_, index) => String(index));
    const problems = new Problems();
    let steps = 0;
    if (node)
      for (const _ of validateRules(node, { spec: words }, { spec: words.toReversed() }, problems, () => {})) steps++;
    expect(format(problems)).toEqual(['spec: Invalid value: failed rule: self != oldSelf']);
    expect(steps).toBeGreaterThan(30);
  });

  test('a large list is made in steps', () => {
    const spec = withRules(list(int), 'self[99999] == 99999 && self == [1]');
    const found = validate(
      spec,
      Array.from({ length: 100_000 }, (_, index) => index),
    );
    expect(found.problems).toEqual(['spec: Invalid value: failed rule: self[99999] == 99999 && self == [1]']);
  });
});

test.each([
  ['self.none == 1', "1:5: undefined field 'none'\n | self.none == 1\n | ....^"],
  [
    'self.s == self.n',
    "1:8: found no matching overload for '_==_' applied to '(string, int)'\n | self.s == self.n\n | .......^",
  ],
])('what does not compile is shown with its place: %s', (rule, problem) => {
  expect(compile(object({ spec: withRules(described, rule) })).problems).toEqual([
    `schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value: {"Rule":"${rule}","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:${problem}`,
  ]);
});

test('types that are too large are a problem of the rule', () => {
  for (const rule of [
    `[1]${'.map(x, {1: x})'.repeat(240)}.size() > 1`,
    `[1]${'.map(x, [x, x])'.repeat(120)}${'.map(x, {1: x})'.repeat(120)}.size() > 1`,
  ])
    expect(compile(object({ spec: withRules(described, rule) })).problems).toEqual([expect.any(String)]);
});

test.each<[string, ValidationRule, string, string]>([
  ['a rule of another type', { rule: 'self.s' }, 'rule', 'cel expression must evaluate to a bool'],
  [
    'a message of another type',
    { rule: 'self.b', messageExpression: 'self.n' },
    'messageExpression',
    'messageExpression must evaluate to a string',
  ],
  [
    'a message with an error',
    { rule: 'self.b', messageExpression: 'self.q' },
    'messageExpression',
    "messageExpression compilation failed: ERROR: <input>:1:5: undefined field 'q'\n | self.q\n | ....^",
  ],
  [
    'optionalOldSelf without oldSelf',
    { rule: 'self.b', optionalOldSelf: false },
    'optionalOldSelf',
    'may not be set if oldSelf is not used in rule',
  ],
])('%s is refused', (_, rule, field, problem) => {
  const [found = '', ...more] = compile(object({ spec: withRules(described, rule) })).problems;
  expect(more).toEqual([]);
  expect(found).toMatch(`schema.properties[spec].x-kubernetes-validations[0].${field}: `);
  expect(found.slice(-problem.length)).toBe(problem);
});

describe('oldSelf', () => {
  const transition = withRules(int, 'self >= oldSelf');
  const held = object({ k: text, v: transition });

  test.each<[string, JsonSchema, string | undefined]>([
    ['a field', transition, undefined],
    ['values of a map', map(transition), undefined],
    ['a list as a whole', withRules(list(int), 'self == oldSelf'), undefined],
    ['entries of a list with keys', list(held, keyed), undefined],
    ['entries of a list', list(transition), 'schema.properties[spec]'],
    ['entries of a set', list(transition, set), 'schema.properties[spec]'],
    ['lists in lists', list(list(held, keyed)), 'schema.properties[spec]'],
    ['a list in a map', map(list(transition)), 'schema.properties[spec].additionalProperties'],
  ])('of %s', (_, spec, within) => {
    const problem = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${within}`;
    expect(compile(object({ spec })).problems).toEqual(within === undefined ? [] : [expect.stringContaining(problem)]);
  });

  test('a local variable of this name is another one', () => {
    expect(
      compile(
        object({
          spec: list(withRules(list(int, { maxItems: 9 }), 'self.all(oldSelf, oldSelf > 1)'), { maxItems: 9 }),
        }),
      ).problems,
    ).toEqual([]);
  });
});

describe('an object', () => {
  const small = withRules(int, 'self < 5');
  const optional = {
    rule: 'oldSelf.hasValue() ? oldSelf.value() == self : self == "new"',
    optionalOldSelf: true,
  };

  test.each<[string, JsonSchema, unknown, readonly string[]]>([
    [
      'scalars are shown',
      object({ a: small, b: withRules(text, 'self != ""') }),
      { a: 9, b: '' },
      ['spec.a: Invalid value: 9: failed rule: self < 5', 'spec.b: Invalid value: "": failed rule: self != ""'],
    ],
    [
      'objects and lists are not',
      object({ l: withRules(list(int), { rule: 'self == [1]', message: '  m ' }) }),
      { l: [] },
      ['spec.l: Invalid value: m'],
    ],
    [
      'rules come before those inside, and all are reported',
      withRules(object({ a: withRules(int, 'self > 1', 'self % 2 == 0') }), 'self.a > 5'),
      { a: 1 },
      [
        'spec: Invalid value: failed rule: self.a > 5',
        'spec.a: Invalid value: 1: failed rule: self > 1',
        'spec.a: Invalid value: 1: failed rule: self % 2 == 0',
      ],
    ],
    [
      'places are named by key and index',
      object({ m: map(small), l: list(small) }),
      { m: { 'a.b': 6 }, l: [1, 7] },
      ['spec.m[a.b]: Invalid value: 6: failed rule: self < 5', 'spec.l[1]: Invalid value: 7: failed rule: self < 5'],
    ],
    ['a null is not looked at', object({ a: withRules({ type: 'string', nullable: true }, 'false') }), { a: null }, []],
    [
      'fields are named by their path',
      withRules(
        object({ a: text, m: map(text) }),
        { rule: 'false', fieldPath: '.a' },
        { rule: 'false', fieldPath: ".m['a.b']" },
      ),
      {},
      ['spec.a: Invalid value: failed rule: false', 'spec.m[a.b]: Invalid value: failed rule: false'],
    ],
    [
      'reasons',
      object({
        a: withRules(
          text,
          { rule: 'false', reason: 'FieldValueForbidden' },
          { rule: 'false', reason: 'FieldValueRequired' },
          { rule: 'false', reason: 'FieldValueDuplicate' },
        ),
      }),
      { a: 'x' },
      [
        'spec.a: Forbidden: failed rule: false',
        'spec.a: Required value: failed rule: false',
        'spec.a: Duplicate value: "x"',
      ],
    ],
    [
      'a duplicate that is not shown',
      withRules(object({}), { rule: 'false', reason: 'FieldValueDuplicate', message: 'm' }),
      {},
      ['spec: Duplicate value'],
    ],
    [
      'messages that are computed',
      object({ a: withRules(text, { rule: 'false', messageExpression: '" said " + self ', message: 'm' }) }),
      { a: 'x' },
      ['spec.a: Invalid value: "x": said x'],
    ],
    [
      'messages that fall back',
      object({
        a: withRules(
          text,
          { rule: 'false', messageExpression: '" "', message: 'm' },
          { rule: 'false', messageExpression: '"a\\nb"', message: 'n' },
          { rule: 'false', messageExpression: 'self.split("")[9]', message: 'o' },
        ),
      }),
      { a: 'x' },
      ['spec.a: Invalid value: "x": m', 'spec.a: Invalid value: "x": n', 'spec.a: Invalid value: "x": o'],
    ],
    [
      'errors',
      withRules(object({ a: text, l: list(text), n: int }), 'self.a == "x"', 'self.l[5] == "a"', 'self.n / 0 == 1', {
        rule: 'self.n + 9223372036854775807 > 0',
        message: 'm',
      }),
      { l: ['a'], n: 5 },
      [
        'spec: Invalid value: "object": no such key: a evaluating rule: self.a == "x"',
        'spec: Invalid value: "object": index out of bounds: 5 evaluating rule: self.l[5] == "a"',
        'spec: Invalid value: "object": division by zero evaluating rule: self.n / 0 == 1',
        'spec: Invalid value: "object": integer overflow evaluating rule: m',
      ],
    ],
    [
      'a value of another type than the rule expects',
      object({ a: withRules({ 'x-kubernetes-int-or-string': true }, 'self + 1 == 2') }),
      { a: 'x' },
      [
        'spec.a: Invalid value: "": \'no such overload\': call arguments did not match a supported operator, function or macro signature for rule: self + 1 == 2',
      ],
    ],
    ['transition rules wait for a former value', object({ a: withRules(text, 'self == oldSelf') }), { a: 'x' }, []],
    [
      'with an optional they do not',
      object({ a: withRules(text, optional), b: withRules(text, optional) }),
      { a: 'x', b: 'new' },
      [`spec.a: Invalid value: "x": failed rule: ${optional.rule}`],
    ],
  ])('%s', (_, spec, created, problems) => {
    expect(validate(spec, created)).toEqual({ problems, warnings: [] });
  });

  const entry = object({ k: text, v: withRules(int, 'self < 5', 'self >= oldSelf') });

  test.each<[string, JsonSchema, unknown, unknown, Found]>([
    [
      'an unchanged value breaks a rule',
      object({ a: small, b: int }),
      { a: 9, b: 1 },
      { a: 9 },
      { problems: [], warnings: ['spec.a: Invalid value: 9: failed rule: self < 5'] },
    ],
    [
      'its parent does, and changes',
      withRules(object({ a: int, b: int }), 'self.a < 5'),
      { a: 9, b: 1 },
      { a: 9 },
      { problems: ['spec: Invalid value: failed rule: self.a < 5'], warnings: [] },
    ],
    [
      'an entry of an unchanged list',
      object({ l: list(small) }),
      { l: [9] },
      { l: [9] },
      { problems: [], warnings: ['spec.l[0]: Invalid value: 9: failed rule: self < 5'] },
    ],
    [
      'an entry of a list that changes',
      object({ l: list(small) }),
      { l: [9, 1] },
      { l: [9] },
      { problems: ['spec.l[0]: Invalid value: 9: failed rule: self < 5'], warnings: [] },
    ],
    [
      'a field that comes or goes',
      object({ a: withRules(text, 'self == oldSelf') }),
      { a: 'x' },
      {},
      { problems: [], warnings: [] },
    ],
    [
      'a transition rule that was broken before',
      object({ a: withRules(int, 'self > oldSelf') }),
      { a: 1 },
      { a: 1 },
      { problems: ['spec.a: Invalid value: 1: failed rule: self > oldSelf'], warnings: [] },
    ],
    [
      'entries are matched by their keys',
      list(entry, keyed),
      [
        { k: 'a', v: 9 },
        { k: 'b', v: 8 },
        { k: 'c', v: 1 },
      ],
      [
        { k: 'b', v: 8 },
        { k: 'a', v: 10 },
      ],
      {
        problems: [
          'spec[0].v: Invalid value: 9: failed rule: self < 5',
          'spec[0].v: Invalid value: 9: failed rule: self >= oldSelf',
        ],
        warnings: ['spec[1].v: Invalid value: 8: failed rule: self < 5'],
      },
    ],
    [
      'values of maps are matched by their names',
      map(withRules(int, 'self >= oldSelf')),
      { a: 4, b: 1 },
      { a: 5 },
      { problems: ['spec[a]: Invalid value: 4: failed rule: self >= oldSelf'], warnings: [] },
    ],
    [
      'an optional has the former value',
      object({ a: withRules(text, optional) }),
      { a: 'x' },
      { a: 'y' },
      { problems: [`spec.a: Invalid value: "x": failed rule: ${optional.rule}`], warnings: [] },
    ],
  ])('on an update: %s', (_, spec, updated, current, found) => {
    expect(validate(spec, updated, current)).toEqual(found);
  });

  test('the root has no name', () => {
    const { node } = compile(withRules(object({ spec: int }), 'self.spec == 1', 'self.spec / 0 == 1'));
    const problems = new Problems();
    if (node) runSync(validateRules(node, { spec: 2 }, undefined, problems, () => {}));
    expect(format(problems)).toEqual([
      '<nil>: Invalid value: failed rule: self.spec == 1',
      '<nil>: Invalid value: "object": division by zero evaluating rule: self.spec / 0 == 1',
    ]);
  });

  test.each<[(problems: Problems) => void, boolean]>([
    [(problems) => problems.required(), false],
    [(problems) => problems.tooMany(2, 1), false],
    [(problems) => problems.invalid(1, 'too small'), true],
  ])('rules are not evaluated on values that they do not expect', (report, isEvaluated) => {
    const { node } = compile(object({ spec: withRules(int, 'false') }));
    const problems = new Problems();
    report(problems.at('other'));
    if (node) runSync(validateRules(node, { spec: 1 }, undefined, problems, () => {}));
    expect(format(problems).at(-1)).toBe(
      isEvaluated
        ? 'spec: Invalid value: 1: failed rule: false'
        : '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    );
  });
});

test.each<[string, JsonSchema, unknown, readonly string[]]>([
  ['holds', withRules(int, 'self > 1'), 2, []],
  ['breaks a rule', withRules(int, 'self > 1'), 1, ['default: Invalid value: 1: failed rule: self > 1']],
  [
    'is no change of itself',
    withRules(int, 'self > oldSelf'),
    1,
    ['default: Invalid value: 1: failed rule: self > oldSelf'],
  ],
  [
    'may not come',
    withRules(int, { rule: 'oldSelf.hasValue()', optionalOldSelf: true }),
    1,
    ['default: Invalid value: 1: failed rule: oldSelf.hasValue()'],
  ],
])('a default that %s', (_, spec, given, expected) => {
  const rules = compile(object({ spec })).node?.fields.get('spec');
  const problems = new Problems();
  if (rules) runSync(validateDefaultByRules(rules, given, new RuleBudget(), problems.at('default')));
  expect(format(problems)).toEqual(expected);
});

describe('costs', () => {
  const all = 'self.all(x, self.all(y, x >= y || x < y))';
  const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

  /** As if the rules had been accepted before. */
  function evaluate(schema: JsonSchema, given: unknown): readonly string[] {
    const { node } = compile(schema);
    const problems = new Problems();
    if (node) runSync(validateRules(node, given, undefined, problems, () => {}));
    return format(problems);
  }

  test.each<[string, JsonSchema, readonly string[]]>([
    [
      'of a rule',
      object({ l: withRules(list(text), 'self.all(x, self.all(y, x == y))') }),
      [
        'schema.properties[l].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x',
      ],
    ],
    [
      'of a rule that may be evaluated often',
      object({ l: list(withRules({ type: 'string', maxLength: 10 }, 'self != "a"'), { maxItems: 6_000_000 }) }),
      [
        'schema.properties[l].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 1.200000x',
      ],
    ],
    [
      'of a message',
      object({
        s: withRules(text, { rule: 'self == "a"', messageExpression: 'self.split("").map(c, c + self).join("")' }),
      }),
      [
        'schema.properties[s].x-kubernetes-validations[0].messageExpression: Forbidden: estimated messageExpression cost exceeds budget by factor of more than 100x',
      ],
    ],
  ])('the estimated cost %s is limited', (_, schema, problems) => {
    expect(compile(schema).problems).toEqual(
      expect.arrayContaining(problems.map((problem) => expect.stringContaining(problem))),
    );
  });

  test('the most expensive rules are named if they cost too much together', () => {
    const rules = Array.from({ length: 11 }, (_, index) => `self != "${index % 10}"`);
    const schema = object({
      l: list(withRules({ type: 'string', maxLength: 1000 }, ...rules), { maxItems: 4_900_000 }),
    });
    const { problems } = compile(schema);
    const named = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema';
    const total =
      'schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1.078000x';
    expect(problems).toEqual([
      ...Array.from({ length: 4 }, () => expect.stringContaining(named)),
      expect.stringContaining(total),
    ]);
  });

  test('a call that costs too much is an error, and no other rule is evaluated', () => {
    const schema = object({ l: withRules(list(int), all), z: withRules(int, 'false') });
    expect(evaluate(schema, { l: numbers(800), z: 2 })).toEqual([
      `l: Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${all}`,
    ]);
  });

  test('all rules of an object together may not cost too much', () => {
    const schema = object({ l: list(withRules(list(int), all)) });
    expect(evaluate(schema, { l: Array.from({ length: 60 }, () => numbers(200)) })).toEqual([
      'l[33]: Invalid value: "array": validation failed due to running out of cost budget, no further validation rules will be run',
    ]);
  });
});

test('all entries of a map that have another type than the first are named', () => {
  const [problem = ''] = compile(
    object({ spec: withRules(described, "{'a': 1, 'b': 'c', 3: true}.size() > 1") }),
  ).problems;
  expect(Array.from(problem.matchAll(/<input>:1:(\d+)/g), ([, column]) => Number(column))).toEqual([15, 20, 23]);
});
