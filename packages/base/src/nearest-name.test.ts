import { expect, test } from '@jest/globals';
import { nearestName } from './nearest-name.ts';

test('suggests the name that differs by a typing error', () => {
  expect(nearestName('prot', ['port', 'fresh', 'replicas'])).toBe('port');
  expect(nearestName('secure-prot', ['secure-port', 'etcd-prefix'])).toBe('secure-port');
});

test('suggests nothing for a name that is unlike all known names', () => {
  expect(nearestName('zzzzzzzzzz', ['port', 'fresh'])).toBeUndefined();
  expect(nearestName('', [])).toBeUndefined();
});
