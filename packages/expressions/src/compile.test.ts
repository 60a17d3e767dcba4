import { describe, expect, test } from '@jest/globals';
import {
  BudgetExceededError,
  compile,
  EvaluationError,
  type Expression,
  formatType,
  fromJson,
  type Type,
  types,
} from './index.ts';

const user = types.object('UserInfo', { username: types.string, groups: types.list(types.string) });
const variables = { claims: types.map(types.string, types.dyn), user };

function expressionOf(text: string, declared: Readonly<Record<string, Type>> = variables): Expression {
  const compiled = compile(text, declared);
  if ('faults' in compiled) throw new Error(compiled.faults.join('\n'));
  return compiled.expression;
}

const valueOf = (text: string, claims: unknown = {}, budgetSteps?: number): unknown =>
  expressionOf(text).evaluate(new Map([['claims', fromJson(claims)]]), budgetSteps);

function faultsOf(text: string): readonly string[] {
  const compiled = compile(text, variables);
  return 'faults' in compiled ? compiled.faults : [];
}

/** Types that share parts: the tree of the last one has 2^links of them. */
const chain = (links: number, link: string): string => `[1]${link.repeat(links)}`;
const within = (names: readonly string[], body: string): string =>
  names.reduceRight((inner, name) => `[[]].map(${name}, ${inner})`, body);

test.each([
  ['maps of one type twice', `${chain(60, '.map(a,{a:a})')}.size() > 0`],
  ['the same without a call', `${chain(60, '.map(a,{a:a})')}.all(x, true)`],
  ['bound parameters', chain(60, '.map(a,{optional.of(a).value():optional.of(a).value()})')],
  ['conditions', chain(60, '.map(a,true ? {a:a} : {a:a})')],
  ['an error that names the type', `${chain(60, '.map(a,{a:a})')} + 1`],
  ['many uses of a large type', `${chain(11, '.map(a,{a:a})')}.map(x, [${'x,dyn(x),[x][0],'.repeat(1500)}x])`],
  [
    'nesting that the text does not have',
    within(
      Array.from({ length: 60 }, (_, index) => `x${index}`),
      `[${Array.from({ length: 59 }, (_, i) => `x${i}==${'['.repeat(100)}x${i + 1}${']'.repeat(100)}`).join()}]`,
    ),
  ],
])('types that are too large are refused: %s', (_, text) => {
  expect(faultsOf(text).join('\n')).toContain('the types of the expression are nested too deeply or too large');
});

test('types of practical size can be shared, joined and nested', () => {
  expect(faultsOf(`${chain(8, '.map(a,{"x":a,"y":a})')}.exists(x, x["x"] == x["y"])`)).toEqual([]);
  expect(faultsOf(`[${'{"a":[{"b":["c"]}]},'.repeat(1000)}{}]`)).toEqual([]);
});

test('the Unicode classes of all patterns of an expression are bounded', () => {
  const matching = (classes: number): string => `"a".matches("${'\\\\pL'.repeat(classes)}")`;
  expect(faultsOf([matching(250), matching(250)].join(' && '))).toEqual([]);
  expect(faultsOf([matching(250), matching(251)].join(' && ')).join()).toContain(
    'the expression has more than 500 Unicode classes in patterns',
  );
  const folded = (ranges: number): string => `"a".matches("(?i)${'[\\u0100-\\uffff]'.repeat(ranges)}")`;
  expect(faultsOf(folded(5))).toEqual([]);
  expect(faultsOf(folded(6)).join()).toContain('Unicode classes');
  const computed = `claims.list.exists(e, "a".matches("${'\\\\pL'.repeat(300)}" + e))`;
  const list = Array.from({ length: 100 }, (_, index) => String(index));
  expect(() => valueOf(computed, { list })).toThrow(BudgetExceededError);
});

test('a message shows the beginning of a long type', () => {
  const [fault = ''] = faultsOf(`(${chain(150, '.map(a,[a])')}) + 1`);
  expect(fault).toContain("applied to '(list(list(");
  expect(fault.split('\n')[0]?.length).toBeLessThan(1_200);
});

test('no more than 100 errors are described, and long lines are not shown with each of them', () => {
  const faults = faultsOf(`[${'x,'.repeat(16_000)}x]`);
  expect(faults).toHaveLength(101);
  expect(faults.at(-1)).toBe('15901 more errors were truncated');
  expect(faults.join('\n').length).toBeLessThan(20_000);
});

test('a replacement that JavaScript cannot hold exceeds the budget', () => {
  const claims = { text: 'a'.repeat(50_000), by: 'b'.repeat(50_000) };
  expect(() => valueOf('claims.text.replace("", claims.by)', claims, 10_000_000)).toThrow(BudgetExceededError);
});

describe('compilation', () => {
  test.each([
    ['claims.sub', 'dyn'],
    ['claims.sub == "a"', 'bool'],
    ['claims.?roles.orValue([])', 'dyn'],
    ['user.username', 'string'],
    ['user.groups', 'list(string)'],
    ['user.groups.map(group, "g:" + group)', 'list(string)'],
    ['user.groups.exists(group, group.startsWith("system:"))', 'bool'],
    ['user.username.split(":")[0]', 'string'],
    ['has(claims.email) ? claims.email : "none"', 'dyn'],
  ])('%s is known to be a %s', (text, type) => {
    expect(formatType(expressionOf(text).type)).toBe(type);
  });

  test.each([
    ['user.foo', "1:5: undefined field 'foo'"],
    ['claim.sub', "1:1: undeclared reference to 'claim'"],
    ['claims.sub +', "1:13: Syntax error: mismatched input '<EOF>'"],
    ['user.username == 1', "found no matching overload for '_==_' applied to '(string, int)'"],
    ['user.username + 1', "found no matching overload for '_+_' applied to '(string, int)'"],
    ['user.username.startWith("a")', "undeclared reference to 'startWith'"],
    ['user.username && true', "expected type 'bool' but found 'string'"],
    ['user.username.all(x, true)', 'cannot be range of a comprehension'],
    ['claims.sub.matches("a(")', '1:20: invalid matches argument'],
    ['"a" "b"', '1:5: Syntax error: extraneous input \'"b"\' expecting <EOF>'],
    ['user.groups.map(1, 2)', 'argument is not an identifier'],
    ['9223372036854775808', 'invalid int literal'],
    ['Message{a: 1}', "undeclared reference to 'Message'"],
  ])('%s is refused: %s', (text, fault) => {
    expect(faultsOf(text).join('\n')).toContain(fault);
  });

  const operand = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
  const atEnd = (column: number): string =>
    `1:${column}: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', ${operand}`;

  test.each<[string, readonly string[]]>([
    ['@', ["1:1: Syntax error: token recognition error at: '@'", atEnd(2)]],
    ['1 @ == 1', ["1:3: Syntax error: token recognition error at: '@'"]],
    ['"ab', ["1:1: Syntax error: token recognition error at: '\"ab'", atEnd(4)]],
    ['1 == b"a', ["1:7: Syntax error: token recognition error at: '\"a'"]],
    [
      '"\\q"',
      [
        "1:1: Syntax error: token recognition error at: '\"\\q'",
        "1:4: Syntax error: token recognition error at: '\"'",
        atEnd(5),
      ],
    ],
    ['&&', [`1:1: Syntax error: mismatched input '&&' expecting {'[', '{', '(', '.', '-', '!', ${operand}`, atEnd(3)]],
    ['1 + * 1', [`1:5: Syntax error: extraneous input '*' expecting {'[', '{', '(', '.', '-', '!', ${operand}`]],
    ['-', ["1:2: Syntax error: no viable alternative at input '-'", atEnd(2)]],
    ['size(', [`1:6: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', ')', '.', '-', '!', ${operand}`]],
    ['[1][', [`1:5: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', '?', ${operand}`]],
    ['"\\ud800"', ['1:1: invalid unicode code point']],
  ])('all that is wrong with the syntax of %s is reported, as by kube-apiserver', (text, faults) => {
    expect(faultsOf(text).map((fault) => fault.split('\n', 1)[0])).toEqual(
      faults.map((fault) => `ERROR: <input>:${fault}`),
    );
  });

  test.each(['@', '&&', '- ', '"', '1 + * ', 'a.&& '])('of many errors such as %s a hundred are reported', (part) => {
    expect(faultsOf(part.repeat(5_000)).length).toBeLessThanOrEqual(101);
  });

  test('a backslash in a raw text is one character', () => {
    expect(valueOf(String.raw`r'\' == '\\' && r"\d" == '\\d'`, {})).toBe(true);
  });

  test('every error is reported with a line that points at it', () => {
    expect(faultsOf('user.a == "x" ||\nuser.b')).toEqual([
      'ERROR: <input>:1:5: undefined field \'a\'\n | user.a == "x" ||\n | ....^',
      "ERROR: <input>:2:5: undefined field 'b'\n | user.b\n | ....^",
    ]);
  });

  test.each([
    ['claims.email', true],
    ['claims.?email.orValue("")', true],
    ['claims["email"]', true],
    ['has(claims.email)', true],
    ['[1].map(x, claims.email)', true],
    ['"claims.email"', false],
    ['claims.email_verified', false],
    ['claims.user.email', false],
  ])('whether %s reads the claim is %s', (text, reads) => {
    expect(expressionOf(text).readsField('claims', 'email')).toBe(reads);
  });
});

describe('claims', () => {
  test('(prototype pollution) are found by their own names only, whatever these are', () => {
    const claims = JSON.parse('{"__proto__":"p","constructor":"c","toString":"t"}') as unknown;
    expect(valueOf('claims.__proto__ + claims.constructor + claims.toString', claims)).toBe('pct');
    expect(valueOf('has(claims.valueOf) || has(claims.hasOwnProperty) || "length" in claims', claims)).toBe(false);
    expect(() => valueOf('claims.groups.length', { groups: ['a', 'b'] })).toThrow(EvaluationError);
  });

  test('keep JSON numbers as doubles and null as a present value', () => {
    expect(
      valueOf('claims.n == 1.0 && claims.n == 1 && has(claims.none) && claims.none == null', { n: 1, none: null }),
    ).toBe(true);
    expect(() => valueOf('claims.n + 1', { n: 1 })).toThrow('no such overload');
  });

  test('are not shown by an error', () => {
    for (const text of [
      'claims.a.b',
      'claims.b',
      'claims.a + 1',
      'int(claims.a)',
      'claims[claims.a]',
      'claims.a.matches(claims.a + "(")',
    ])
      expect(() => valueOf(text, { a: 'hush' })).not.toThrow(/hush/);
  });
});

describe('values of Kubernetes', () => {
  const nines = '9'.repeat(300);

  test.each([
    ['a quantity with very many digits', `isQuantity('1${nines}')`],
    ['a quantity beyond all numbers', "isQuantity('1e99999999')"],
    ['a version with very many parts', `isSemver('1.2.3-${'a.'.repeat(200)}b')`],
    ['a long address', `isIP('${'::'.repeat(50_000).slice(0, 10_000)}1')`],
  ])('%s is none, so that comparing takes no time', (_, text) => {
    expect(valueOf(text)).toBe(false);
  });

  test('the largest of them are added and compared exactly', () => {
    expect(valueOf(`quantity('1e300').add(quantity('1n')).isGreaterThan(quantity('1e300'))`)).toBe(true);
    expect(valueOf(`quantity('${nines.slice(1)}').add(1) == quantity('1e299')`)).toBe(true);
  });

  test('an escaped identifier reads the property of the original name', () => {
    expect(valueOf('claims.kubernetes__dot__io__slash__team', { 'kubernetes.io/team': 'a' })).toBe('a');
    expect(valueOf('claims.__proto__ == "p" && claims.a__b == 1', JSON.parse('{"__proto__":"p","a__b":1}'))).toBe(true);
  });
});

describe('Kubernetes’ functions', () => {
  test.each([
    ["'abc 123'.find('[0-9]+') == '123'", true],
    ["'1a2b3'.findAll('[0-9]') == ['1', '2', '3']", true],
    ["'1a2b3'.findAll('[0-9]', 2) == ['1', '2']", true],
    ["url('https://user:p@example.com:8080/a%20b?x=1&x=2').getHost() == 'example.com:8080'", true],
    ["url('https://[::1]:80/').getHostname() == '::1'", true],
    ["url('https://example.com/a%20b?x=1&x=2').getQuery() == {'x': ['1', '2']}", true],
    ["url('/a/b').getEscapedPath() == '/a/b' && url('/a').getScheme() == ''", true],
    ["' \u00a0a b\\n\\t'.trim() == 'a b' && '  '.trim() == ''", true],
    ["isURL('../a') || isURL('a b')", false],
    ['[1, 2, 2].isSorted() && [3, 1].min() == 1 && [3, 1].max() == 3 && [1, 2].sum() == 3', true],
    ["['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2", true],
    ["sets.contains(['a', 'b'], ['a']) && !sets.intersects([1], [2]) && sets.equivalent([1, 1], [1])", true],
  ])('%s is %s', (text, expected) => {
    expect(valueOf(text)).toBe(expected);
  });
});

/** The names are those of the rows in the table of threats. */
describe('CEL cost: a malicious expression', () => {
  const thousand = { list: Array.from({ length: 1000 }, (_, index) => `${index}`), text: 'a'.repeat(100_000) };

  test.each([
    ['walks over lists within lists', 'claims.list.all(a, claims.list.all(b, claims.list.all(c, true)))'],
    ['makes lists of lists', 'claims.list.map(a, claims.list.map(b, claims.list.map(c, c))).size() > 0'],
    ['doubles a text', `${doubled('a + a', "'aaaaaaaaaaaaaaaa'", 40)}.size() > 0`],
    ['doubles a list', `${doubled('a + a', '[1]', 40)}.size() > 0`],
    [
      'compares a list that holds itself twice, and again',
      `${doubled('[a, a]', '[1]', 40)} == ${doubled('[a, a]', '[1]', 40)}`,
    ],
    ['writes such a list', `'%s'.format([${doubled('[a, a]', '[1]', 40)}]).size() > 0`],
    ['replaces every letter by a text', "claims.text.replace('a', claims.text).size() > 0"],
    ['joins texts', 'claims.list.map(a, claims.text).join(claims.text).size() > 0'],
    ['looks for a pattern again and again', 'claims.list.all(a, claims.text.matches("^(a+)+$"))'],
    [
      'looks for a long part that nearly is there',
      "claims.list.all(a, !claims.text.contains('b' + claims.text.substring(50000)))",
    ],
    ['looks for all that nearly is there', "claims.text.findAll('a*b|a').size() > 0"],
    ['sorts long texts', 'claims.list.map(a, claims.text + a).sort().size() > 0'],
    ['sorts by long texts', 'claims.list.sortBy(a, claims.text).size() > 0'],
    ['looks for the greatest of long texts', 'claims.list.map(a, claims.text).max().size() > 0'],
    ['makes a list of all numbers', 'lists.range(9223372036854775807).size() > 0'],
    ['looks for doubles in a long list', 'lists.range(20000).distinct().size() > 0'],
    ['flattens lists of lists', 'claims.list.map(a, claims.list).flatten().size() > 0'],
    ['compares long URLs', "[url('/' + claims.text)].all(u, claims.list.all(a, u == u))"],
    ['reads long URLs', "claims.list.all(a, isURL('/ä' + claims.text))"],
    ['reads long names', 'claims.list.all(a, format.qualifiedName().validate(claims.text).hasValue())'],
    ['looks things up in long lists', 'claims.list.all(a, claims.list.all(b, !("x" in claims.list)))'],
  ])('and %s is stopped by the budget', (_, text) => {
    expect(() => valueOf(text, thousand)).toThrow('operation cancelled: actual cost limit exceeded');
  });

  test.each([
    ['matches a long text', 'claims.text.matches("[^a]")', 'claims.text.substring(50000).matches("[^a]")'],
    ['matches by a long program', `claims.text.substring(90000).matches("(x?a?){30}")`, `'a'.matches("(x?a?){30}")`],
    [
      'finds much in a long text',
      'claims.text.substring(80000).findAll("a").size() > 0',
      '"aaa".findAll("a").size() > 3',
    ],
  ])('and %s is stopped before it holds the event loop, which nothing can interrupt then', (_, long, short) => {
    const double = { text: thousand.text.repeat(2) };
    expect(() => valueOf(long, double)).toThrow('operation cancelled: actual cost limit exceeded');
    expect(typeof valueOf(short, thousand)).toBe('boolean');
  });

  test('is stopped also behind a short-circuiting operator', () => {
    expect(() => valueOf('claims.list.all(a, claims.list.all(b, claims.list.all(c, true))) || true', thousand)).toThrow(
      BudgetExceededError,
    );
  });

  test.each([
    ['deep brackets', `${'('.repeat(5000)}1${')'.repeat(5000)}`],
    ['deep lists', `${'['.repeat(5000)}${']'.repeat(5000)}`],
    ['deep macros', `${'[1].map(x, '.repeat(1000)}x${')'.repeat(1000)}`],
    ['a long sum', Array.from({ length: 5000 }, () => '1').join('+')],
    ['a chain of choices', `${'true?1:'.repeat(4000)}1`],
    ['a chain of fields', `claims${'.a'.repeat(5000)}`],
    ['more text than anybody writes', `"${'a'.repeat(40_000)}"`],
    ['a pattern that is a long program', '"a".matches("((a{100}){100}){100}")'],
    ['a long pattern', `"a".matches("${'a'.repeat(2000)}")`],
  ])('and writes %s is refused', (_, text) => {
    expect(faultsOf(text)).toHaveLength(1);
  });

  test('a long list of conditions is not deep', () => {
    expect(valueOf(Array.from({ length: 1000 }, (_, index) => `claims.n == ${index}`).join(' || '), { n: 999 })).toBe(
      true,
    );
  });

  test('(deep nesting) endlessly nested claims are an ordinary error', () => {
    const deep = JSON.parse(`${'['.repeat(5000)}${']'.repeat(5000)}`) as unknown;
    expect(() => valueOf('true', { deep })).toThrow(EvaluationError);
  });

  test('the same expression costs the same each time', () => {
    const text = 'claims.list.exists(a, a == "500") && claims.text.matches("a+")';
    expect(stepsOf(text, thousand)).toBe(stepsOf(text, thousand));
  });

  const evil = [
    '^(a+)+$',
    '^(a|a)*$',
    '^(a|aa)+$',
    '^(a*)*$',
    '^([a-zA-Z]+)*$',
    '^(.*a){12}$',
    '(x+x+)+y',
    '^(a?){30}a{30}$',
  ];
  const more = [
    '^((a+)b?)+$',
    '^(\\w+\\s?)*$',
    '^(([a-z])+.)+[A-Z]([a-z])+$',
    '^(a+)+(b+)+(c+)+$',
    '(?i)^(a+)+$',
    '^(a{1,20}){1,20}$',
  ];
  test.each([...evil, ...more])('ReDoS: %s takes steps as the text is long, and comes to an end', (pattern) => {
    const lengths = [50, 200, 400];
    const steps = lengths.map((length) =>
      stepsOf(`claims.text.matches(r'${pattern}')`, { text: `${'a'.repeat(length)}!` }),
    );
    for (const [index, length] of lengths.entries())
      expect(steps[index]).toBeLessThan(3 * length * ((steps[0] as number) / 50));
  });

  /** The least budget that is enough, as near as half of it. */
  function stepsOf(text: string, claims: unknown): number {
    for (let steps = 1; ; steps = Math.ceil(steps * 1.5))
      try {
        valueOf(text, claims, steps);
        return steps;
      } catch (error) {
        if (!(error instanceof BudgetExceededError)) throw error;
      }
  }

  function doubled(how: string, first: string, times: number): string {
    return `${'['.repeat(times)}${first}${`].map(a, ${how})[0]`.repeat(times)}`;
  }
});
