import { expect, test } from '@jest/globals';
import { bytesOf, encodeStored } from '@cluster-apiserver/model/codec';
import { defineKind, type KubeObject } from '@cluster-apiserver/model/kind';
import { revision } from '@cluster-apiserver/storage';
import { robotKind } from '../test/robot-kind.ts';
import { readStored, type StoredObject, WrittenValue } from './stored-object.ts';

const metadata = { name: 'marvin', namespace: 'ship', uid: '5f0c3a52-0000-4000-8000-000000000000' };

test.each<[string, Partial<KubeObject['metadata']>]>([
  ['nothing else', {}],
  ['labels, short and long', { labels: { a: '', app: 'x', 'example.com/name': 'a-label-that-is-long' } }],
  ['a label whose key is __proto__', { labels: JSON.parse('{"__proto__":"a-label-that-is-long"}') as never }],
  ['finalizers', { finalizers: ['example.com/hold'], labels: { app: 'x' } }],
  ['owners', { ownerReferences: [{ apiVersion: 'v1', kind: 'Robot', name: 'ford', uid: 'u' }] }],
  ['annotations beyond ASCII', { annotations: { note: 'größer als 🤖' } }],
])('an own write that comes back with its object is read like its bytes: %s', (_, more) => {
  const object = { kind: 'Robot', apiVersion: 'v1', metadata: { ...metadata, ...more } } as KubeObject;
  const value = bytesOf(encodeStored(object));
  const stored = { key: '/registry/robots/ship/marvin', value, revision: revision(7), stale: false };
  const read = readStored(robotKind, stored, 'ship/marvin');
  expect(readStored(robotKind, { ...stored, source: new WrittenValue(robotKind, object) }, 'ship/marvin')).toEqual(
    read,
  );
  expect(read.object).toEqual(object);
});

test('an own write at another place is refused like its bytes', () => {
  const object = { kind: 'Robot', apiVersion: 'v1', metadata } as KubeObject;
  const value = bytesOf(encodeStored(object));
  const stored = { key: '/registry/robots/ship/zaphod', value, revision: revision(7), stale: false };
  const own = { ...stored, source: new WrittenValue(robotKind, object) };
  for (const read of [stored, own]) expect(() => readStored(robotKind, read, 'ship/zaphod')).toThrow();
});

test('a stored form of its own decides what is written, and what a stored value is served as', () => {
  const withColor = (bytes: Buffer): Buffer =>
    Buffer.from(
      bytes
        .toString()
        .replace(/("uid":"[^"]*"}),?/, '$1,"color":"red",')
        .replace(',}', '}'),
    );
  const kind = defineKind({
    group: 'example.com',
    version: 'v1',
    kind: 'Robot',
    plural: 'robots',
    singular: 'robot',
    description: '',
    fields: {},
    storage: {
      form: {
        renew: (stored) => ({ value: stored.includes('"color"') ? stored : withColor(stored) }),
        renewInSteps: () => {
          throw new Error('the value is small');
        },
      },
    },
  });
  const object = {
    kind: 'Robot',
    apiVersion: 'example.com/v1',
    metadata,
    unknown: { empty: [], none: null },
  } as KubeObject;
  const value = bytesOf(encodeStored(object));
  const stored = { key: '/registry/robots.example.com/ship/marvin', value, revision: revision(7), stale: false };
  const read = readStored(kind, stored, 'ship/marvin');
  expect(read.object).toEqual({ ...object, color: 'red' });
  // The next write stores it so, even if it changes nothing else.
  expect(read.stale).toBe(true);
  expect(readStored(kind, { ...stored, value: bytesOf(read.storedForm) }, 'ship/marvin').stale).toBe(false);
});

test('a large object is decoded once while it is in memory, and a small one each time', () => {
  const read = (text: string): StoredObject => {
    const object = { kind: 'Robot', apiVersion: 'v1', metadata: { ...metadata, annotations: { text } } } as KubeObject;
    const value = bytesOf(encodeStored(object));
    return readStored(robotKind, { key: 'marvin', value, revision: revision(7), stale: false }, 'ship/marvin');
  };
  const large = read('x'.repeat(300_000));
  expect(large.object).toBe(large.object);
  const small = read('x');
  expect(small.object).toEqual(small.object);
  expect(small.object).not.toBe(small.object);
});
