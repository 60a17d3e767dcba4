import { describe, expect, test } from '@jest/globals';
import { bytesOf, encodeProtobuf, encodeStored } from '@cluster-apiserver/model/codec';
import { decode } from '@cluster-apiserver/model/schema';
import { assert, property } from 'fast-check';
import { anyObject } from '../../model/test/any-object.ts';
import { kinds } from './index.ts';

const stored = kinds({ eventLifetimeSeconds: 3600 });
const runs = { numRuns: 60, seed: 1 };

describe.each(stored.map((kind) => [kind.kind, kind] as const))('a stored %s', (name, kind) => {
  const { apiVersion, schema } = kind;
  const anyStored = anyObject(schema).map((given) => {
    // Every object has a uid.
    const whole = { ...given, kind: name, apiVersion, metadata: { ...Object(given['metadata']), uid: 'u' } };
    const object = decode(schema, whole, () => {});
    const { resourceVersion: _, ...metadata } = object.metadata;
    return { ...object, metadata };
  });

  test('of ours is left as it is', () => {
    assert(
      property(anyStored, (object) => {
        const bytes = bytesOf(encodeStored(object));
        expect(kind.storage.form.renew(bytes, kind).value).toBe(bytes);
      }),
      runs,
    );
  });

  test('of another server is read as protobuf, and as JSON with whatever around it and in any order', () => {
    assert(
      property(anyStored, (object) => {
        const ours = bytesOf(encodeStored(object)).toString();
        const { metadata, ...rest } = object;
        const backwards = Object.fromEntries(Object.entries({ ...rest, metadata, unheardOf: 1 }).toReversed());
        const theirs = [
          encodeProtobuf(schema, object as never),
          Buffer.from(`${ours}\n`),
          Buffer.from(` ${JSON.stringify(backwards)} `),
        ];
        for (const bytes of theirs) expect(kind.storage.form.renew(bytes, kind).value.toString()).toBe(ours);
      }),
      runs,
    );
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
