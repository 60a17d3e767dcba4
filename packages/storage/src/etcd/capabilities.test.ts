import { expect, test } from '@jest/globals';
import { capabilitiesOfVersion } from './capabilities.ts';

test.each([
  ['3.4.23', false],
  ['3.4.25', true],
  ['3.5.7', false],
  ['3.5.8', true],
  ['3.5.30', true],
  ['3.6.0', true],
  ['3.6.0-rc.1', true],
  ['3.3.27', false],
  ['4.0.0', true],
  ['', false],
])('etcd %s supports ordered progress requests: %s', (version, expected) => {
  expect(capabilitiesOfVersion(version).progressRequests).toBe(expected);
});
