import { describe, expect, test } from '@jest/globals';
import { answer, type Answer, recorded } from './reference.ts';

/**
 * Where this package answers otherwise, and why. An expression is named with its claims, as far as these tell it from
 * another.
 */
const differences: readonly (readonly [why: string, expressions: readonly string[]])[] = [
  [
    // Its claims are of type `any`, over which it allows no macro and no format without `dyn(…)`.
    'a claim may be walked over and formatted as it is',
    [
      "'%s'.format([claims.a])",
      "'%d'.format([claims.a])",
      "'%s and %s'.format([claims.a, 'x'])",
      'claims.l.sortBy(e, e.n)',
      'claims.l.sortBy(e, e.n).map(e, e.v)',
      'claims.m.transformMap(k, v, string(v))',
      'claims.m.all(k, v, v > 0)',
      "claims.groups.exists(g, g.startsWith('a'))",
      "claims.groups.exists(g, g == 'a')",
      "claims.groups.all(g, g == 'a')",
      "claims.?groups.orValue([]).exists(g, g == 'a')",
    ],
  ],
  [
    // Its map of all claims has no size, and neither equality nor `in` work on it.
    'the claims as a whole are a map like others',
    [
      'type(claims)',
      '.claims',
      "'a' in claims",
      "'a__dot__b' in claims",
      'claims.size()',
      'size(claims)',
      "claims == {'a': 1}",
      'claims.m == claims.m',
      'claims.transformList(k, v, k)',
    ],
  ],
  ['names may be quoted', ['claims.`a.b`']],
  [
    // It evaluates literals when it loads them, without these checks.
    'keys of maps are checked in literals too',
    ["{ip('1.2.3.4'): 1}", "{'a': 1, 'a': 2}", "{1.5: 'a'}", "dyn({1.5: 'a'})", '{[1]: 2}', '{null: 1}'],
  ],
  ['what has no order has no greatest', ['claims.l.max()']],
  ['sorting costs what it takes', ['lists.range(1000).map(a, a).sort().size()']],
  [
    'numbers are decimal, and have up to 100 digits after the point',
    ["double('0x1p4')", "double('1_0')", "'%.101f'.format([1.5])"],
  ],
  ['a conversion within a conversion fails later', ["int(double('NaN'))", 'string(null)']],
  ['a duration may be made of nanoseconds', ['duration(1000)']],
  ['there are no protocol buffers', ['google.protobuf.Int64Value{value: 1}', 'google.protobuf.Duration{seconds: 1}']],
  ['a list has no comma before its first element', ['[,]']],
  [
    'the words for the same differ',
    ['[].sortBy(e, e)', "'abc'.sortBy(e, e)", "{'a': 1}.sortBy(e, e)", 'timestamp', 'optional_type', 'type'],
  ],
];
const different = new Set(differences.flatMap(([, expressions]) => expressions));

const nameOf = ({ expr, claims }: Answer): string => (claims ? `${expr} of ${JSON.stringify(claims)}` : expr);
const withoutCost = (row: Answer): string => JSON.stringify({ ...row, cost: undefined });
const isSame = (row: Answer): boolean => JSON.stringify(answer(row)) === withoutCost(row);

describe('expressions are accepted, typed and evaluated as by kube-apiserver 1.36', () => {
  test('of many', () => {
    expect(recorded.length).toBeGreaterThan(1400);
    expect(new Set(recorded.map(nameOf)).size).toBe(recorded.length);
  });

  test('all of them except those listed here', () => {
    const wrong = recorded.filter((row) => !different.has(row.expr) && !isSame(row));
    expect(wrong.map((row) => [withoutCost(row), answer(row)])).toEqual([]);
  });

  test.each(differences)('except that %s', (_, expressions) => {
    for (const expr of expressions) {
      const rows = recorded.filter((row) => row.expr === expr);
      expect([expr, rows.length > 0 && rows.every(isSame)]).toEqual([expr, false]);
    }
  });

  test('no expression that is cheap there is too expensive here', () => {
    const cheap = recorded.filter(({ cost = 0, fails }) => cost < 100_000 && fails !== 'cost');
    expect(cheap.length).toBeGreaterThan(1000);
    expect(cheap.filter((row) => answer(row).fails === 'cost').map(nameOf)).toEqual([]);
  });

  /** Types are known only as far as claims are; the rest is seen when it is used. */
  test.each([
    ['null', null],
    ['a bool', true],
    ['a number', 1e300],
    ['a text', '10.0.0.1/8'],
    ['half a character', '\ud800'],
    ['a list', ['b', 1, null, [{}], { a: 'x' }]],
    ['a map', { a: {}, b: ['x'] }],
  ])('a claim that is %s in the place of a literal gives a value or an error of the expression', (_, claim) => {
    const literal = /'[^']*'|"[^"]*"|(?<![\w.])\d+(?:\.\d+)?u?/;
    for (const { expr } of recorded)
      for (const changed of [
        expr.replace(literal, 'dyn(claims.v)'),
        expr.replaceAll(new RegExp(literal, 'g'), 'claims.v'),
      ])
        expect(() => answer({ expr: changed, claims: { v: claim } })).not.toThrow();
  });
});
