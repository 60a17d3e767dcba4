import { rawNumber } from '@cluster-apiserver/model/json';
import { expect, test } from '@jest/globals';
import { fromApiJson } from './json-map.ts';

test.each([
  [7, 7n],
  [0.5, 0.5],
  [1e21, 1e21],
  [rawNumber('1.0'), 1],
  [rawNumber('1e3'), 1000],
  [rawNumber('0.10'), 0.1],
  [rawNumber('1E400'), Number.POSITIVE_INFINITY],
  [rawNumber('9007199254740993'), 9_007_199_254_740_993n],
  [rawNumber('-9223372036854775808'), -(2n ** 63n)],
  [rawNumber('18446744073709551616'), 2 ** 64],
  [rawNumber('9'.repeat(10_000)), Number.POSITIVE_INFINITY],
])('the number %s of an object is an int if it is written as one that fits, else a double', (json, value) => {
  expect(fromApiJson({ at: json }, 0)).toHaveProperty('json');
  expect(fromApiJson(json)).toBe(value);
});
