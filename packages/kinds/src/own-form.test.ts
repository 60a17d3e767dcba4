import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { bytesOf, encodeProtobuf, encodeStored } from '@cluster-apiserver/model/codec';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { randomObject } from '../../model/test/random-object.ts';
import { kinds } from './index.ts';

const stored = kinds({ eventLifetimeSeconds: 3600 });

describe.each(stored.map((kind) => [kind.kind, kind] as const))('a stored %s', (name, kind) => {
  const { apiVersion, schema } = kind;
  const some = (seed: number): KubeObject[] => {
    const random = seededRandom(seed);
    return Array.from({ length: 200 }, () => {
      const given = randomObject(random, schema);
      // Every object has a uid.
      const whole = { ...given, kind: name, apiVersion, metadata: { ...Object(given['metadata']), uid: 'u' } };
      const object = decode(schema, whole, () => {});
      const { resourceVersion: _, ...metadata } = object.metadata;
      return { ...object, metadata };
    });
  };

  test('of ours is left as it is', () => {
    for (const object of some(1)) {
      const bytes = bytesOf(encodeStored(object));
      expect(kind.storage.form.renew(bytes, kind).value).toBe(bytes);
    }
  });

  test('of another server is read as protobuf, and as JSON with whatever around it and in any order', () => {
    for (const object of some(2)) {
      const ours = bytesOf(encodeStored(object)).toString();
      const { metadata, ...rest } = object;
      const backwards = Object.fromEntries(Object.entries({ ...rest, metadata, unheardOf: 1 }).toReversed());
      expect(kind.storage.form.renew(encodeProtobuf(schema, object as never), kind).value.toString()).toBe(ours);
      expect(kind.storage.form.renew(Buffer.from(`${ours}\n`), kind).value.toString()).toBe(ours);
      expect(kind.storage.form.renew(Buffer.from(` ${JSON.stringify(backwards)} `), kind).value.toString()).toBe(ours);
    }
  });

  test('of another kind or version, or that is no object, is refused', () => {
    const object = { kind: name, apiVersion, metadata: {} };
    for (const other of [
      { ...object, kind: 'Other' },
      { ...object, apiVersion: 'v2' },
    ]) {
      expect(() => kind.storage.form.renew(encodeProtobuf(schema, other), kind).value).toThrow('it is no');
      expect(() => kind.storage.form.renew(Buffer.from(JSON.stringify(other)), kind).value).toThrow('it is no');
    }
    for (const text of ['', '\n', 'null\n', '[]\n', '1', '{', 'k8s', 'k8s\0', '{"kind":"Other"'])
      expect(() => kind.storage.form.renew(Buffer.from(text), kind).value).toThrow();
  });
});
