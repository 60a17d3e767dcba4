import { expect, test } from '@jest/globals';
import { parseResourceVersion } from './resource-version.ts';

test.each([
  [undefined, undefined],
  ['', undefined],
  ['0', 'any'],
  ['000', 'any'],
  ['17', 17],
  ['0017', 17],
  [`${'0'.repeat(30)}17`, 17],
  ['18446744073709551615', 2 ** 64],
])('%j is %p', (text, version) => {
  expect(parseResourceVersion(text)).toBe(version);
});

test.each(['-1', '+1', '1.0', '1e3', ' 1', '0x1', '18446744073709551616', '100000000000000000000'])(
  '%j is rejected',
  (text) => {
    expect(() => parseResourceVersion(text)).toThrow(/invalid resource version/);
  },
);

test('a long text is rejected in linear time', () => {
  expect(() => parseResourceVersion(`${'0'.repeat(1_000_000)}x`)).toThrow(/invalid resource version/);
}, 1_000);
