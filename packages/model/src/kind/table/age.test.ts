import { expect, test } from '@jest/globals';
import { formatAge } from './age.ts';

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;
const time = '2026-01-01T00:00:00Z';

test.each([
  [-5, '<invalid>'],
  [-2, '<invalid>'],
  [-1, '0s'],
  [0, '0s'],
  [1.9, '1s'],
  [2 * minute - 1, '119s'],
  [2 * minute, '2m'],
  [2 * minute + 5, '2m5s'],
  [10 * minute - 1, '9m59s'],
  [10 * minute + 5, '10m'],
  [3 * hour - 1, '179m'],
  [3 * hour, '3h'],
  [3 * hour + 61, '3h1m'],
  [8 * hour - 1, '7h59m'],
  [8 * hour + 59 * minute, '8h'],
  [2 * day - 1, '47h'],
  [2 * day, '2d'],
  [3 * day + 5 * hour, '3d5h'],
  [8 * day + 5 * hour, '8d'],
  [2 * year - 1, '729d'],
  [2 * year, '2y'],
  [3 * year + 7 * day, '3y7d'],
  [8 * year + 7 * day, '8y'],
])('the age of %d seconds is %s', (seconds, shown) => {
  expect(formatAge(time, Date.parse(time) + seconds * 1000)).toBe(shown);
});

test.each([null, undefined, ''])('a time that is %p is unknown', (unknown) => {
  expect(formatAge(unknown, 0)).toBe('<unknown>');
});
