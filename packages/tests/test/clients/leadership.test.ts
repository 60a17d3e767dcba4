import { expect, test } from '@jest/globals';
import { countHandOvers, type Leadership, overlaps } from './leadership.ts';

const leads = (candidate: string, fromMs: number, toMs: number): Leadership => ({ candidate, fromMs, toMs });

test.each<[string, readonly Leadership[], readonly [string, string][]]>([
  ['one after the other', [leads('b', 2, 3), leads('a', 0, 2), leads('a', 4, 5)], []],
  ['the next before the end', [leads('a', 0, 2), leads('b', 1.9, 3)], [['a', 'b']]],
  ['one within another', [leads('b', 1, 2), leads('a', 0, 5)], [['a', 'b']]],
  [
    'the next but one',
    [leads('a', 0, 9), leads('b', 9, 9), leads('c', 8, 10)],
    [
      ['a', 'c'],
      ['c', 'b'],
    ],
  ],
])('two leaders at once: %s', (_, leaderships, expected) => {
  expect(overlaps(leaderships).map((pair) => pair.map(({ candidate }) => candidate))).toEqual(expected);
});

test('hand-overs are counted in the order of time', () => {
  expect(countHandOvers([leads('b', 4, 5), leads('a', 0, 1), leads('a', 2, 3), leads('c', 6, 7)])).toBe(2);
});
