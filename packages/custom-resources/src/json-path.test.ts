import { expect, test } from '@jest/globals';
import { JsonPathError, parseJsonPath } from './json-path.ts';

const object = {
  a: { b: 'deep', 'x.y': 'dotted' },
  l: [
    { t: 'A', s: 1 },
    { t: 'B', s: 2, ok: true },
    { t: 'C', s: 3 },
  ],
  n: [[1, 2], [3]],
  none: null,
  mixed: [
    { n: 3, t: 'a' },
    { n: 3.5, t: 'b' },
    { n: 'x', t: 'c' },
  ],
};

test.each<[string, unknown]>([
  ['.a.b', 'deep'],
  ['.a.x\\.y', 'dotted'],
  [".a['x\\.y']", 'dotted'],
  [".a['x.y']", undefined],
  ['.l[0].t', 'A'],
  ['.l[-1].t', 'C'],
  ['.l[7].t', undefined],
  ['.l[*].t', 'A'],
  ['.l[1:].t', 'B'],
  ['.l[0:3:2].s', 1],
  ['.l[?(@.t=="B")].s', 2],
  [".l[?(@.t=='B')].s", 2],
  ['.l[?(@.s>1)].t', 'B'],
  ['.l[?(@.s >= 3)].t', 'C'],
  ['.l[?(@.ok==true)].t', 'B'],
  ['.l[?(@.ok)].t', 'B'],
  ['.l[?(@.t=="none")].s', undefined],
  ['.l[?(@.t==1)].s', undefined],
  ['.l[?(@.none<1)].s', undefined],
  ['.mixed[?(@.n=="x")].t', 'c'],
  ['.mixed[?(@.n>2)].t', undefined],
  ['.mixed[?(@.t>"a")].t', 'b'],
  ['.l[?(@.ok<true)].t', undefined],
  ['..ok', true],
  ['.n[1][0]', 3],
  ['.none', null],
  ['.absent.more', undefined],
  ['', object],
  ['.', object],
])('%s finds its first value', (path, found) => {
  expect(parseJsonPath(path).first(object)).toEqual(found);
});

test.each(['.a[', '.a]', '.l[?(@.t=="A"]', ".l['a", '.a b', '.l[x]', '{.a}', '.l[?(1 ==)]'])(
  '%s is no path',
  (path) => {
    expect(() => parseJsonPath(path)).toThrow(JsonPathError);
  },
);

test('an evaluation ends, however much there is to visit', () => {
  const wide = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, index]));
  const nested = { a: Array.from({ length: 200 }, () => Array.from({ length: 200 }, () => wide)) };
  expect(parseJsonPath('.a[*][*][?(@.none==1)].x').first(nested)).toBeUndefined();
  expect(parseJsonPath('..a..k1..none').first(nested)).toBeUndefined();
  expect(parseJsonPath(`.a[${'0:,'.repeat(300)}0:].x`).first(nested)).toBeUndefined();
  expect(parseJsonPath('.a[1][1].k1', 3).first(nested)).toBeUndefined();
});

test('a long path is none', () => {
  expect(() => parseJsonPath('.a'.repeat(501))).toThrow(JsonPathError);
});
