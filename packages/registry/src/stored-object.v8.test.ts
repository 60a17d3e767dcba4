import { expect, test } from '@jest/globals';
import { bytesOf, encodeStored } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { revision } from '@cluster-apiserver/storage';
import { isInternalized } from '@cluster-apiserver/testkit/garbage';
import { robotKind } from '../test/robot-kind.ts';
import { readStored, WrittenValue } from './stored-object.ts';

test.each([
  ['read from its bytes', false],
  ['written by this replica', true],
])('label values of an object %s are not in the string table of V8', (_, isOwn) => {
  const object = {
    kind: 'Robot',
    apiVersion: 'v1',
    metadata: { name: 'marvin', namespace: 'ship', uid: 'u', labels: { number: '12345' } },
  };
  const value = bytesOf(encodeStored(object));
  const stored = { key: '/registry/robots/ship/marvin', value, revision: revision(7), stale: false };
  const source = new WrittenValue(robotKind, JSON.parse(value.toString()) as KubeObject);
  const { labels } = readStored(robotKind, isOwn ? { ...stored, source } : stored, 'ship/marvin');
  expect(labels).toEqual({ number: '12345' });
  expect(isInternalized(labels?.['number'] ?? '')).toBe(false);
});
