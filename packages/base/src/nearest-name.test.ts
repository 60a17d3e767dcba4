import { expect, test } from '@jest/globals';
import { nearestName } from './nearest-name.ts';

test('a typing error is told from its neighbours', () => {
  expect(nearestName('prot', ['port', 'fresh', 'replicas'])).toBe('port');
  expect(nearestName('secure-prot', ['secure-port', 'etcd-prefix'])).toBe('secure-port');
});

test('a name that is like none of the known ones is not guessed at', () => {
  expect(nearestName('zzzzzzzzzz', ['port', 'fresh'])).toBeUndefined();
  expect(nearestName('', [])).toBeUndefined();
});
