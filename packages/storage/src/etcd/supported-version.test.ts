import { expect, test } from '@jest/globals';
import { isTooOld } from './supported-version.ts';

test.each([
  ['3.3.27', true],
  ['3.4.44', true],
  ['3.5.0', true],
  ['3.5.7', true],
  ['3.5', true],
  ['3.5.8', false],
  ['3.5.30', false],
  ['3.6.0', false],
  ['3.6.0-rc.1', false],
  ['4.0.0', false],
  // Servers that speak its protocol need not have a version.
  ['', false],
  ['unknown', false],
])('etcd %s is too old: %s', (version, expected) => {
  expect(isTooOld(version)).toBe(expected);
});
