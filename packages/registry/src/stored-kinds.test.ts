import { expect, test } from '@jest/globals';
import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { StoredKinds } from './index.ts';

const kind = (plural: string, storagePrefix: string): Kind =>
  defineKind({
    group: 'example.com',
    version: 'v1',
    kind: plural,
    plural,
    singular: plural,
    description: '',
    fields: {},
    storage: { prefix: storagePrefix },
  });

test('the kind of a key is found by a prefix of any number of segments', () => {
  const [robots, lamps] = [kind('robots', 'robots'), kind('lamps', 'example.com/lamps')];
  const stored = new StoredKinds('/a/registry', [robots, lamps]);
  let changes = 0;
  stored.onChange(() => changes++);
  expect(stored.ofKey('/a/registry/robots/n/x')).toBe(robots);
  expect(stored.ofKey('/a/registry/example.com/lamps/n/x')).toBe(lamps);
  expect(stored.ofKey('/a/registry/example.com/robots/n/x')).toBeUndefined();
  expect(() => stored.add(kind('others', 'robots'))).toThrow('below one prefix');
  expect(() => stored.add(kind('others', 'example.com/lamps/more'))).toThrow('below one prefix');
  expect(() => stored.add(kind('others', 'example.com'))).toThrow('below one prefix');
  stored.delete(lamps);
  expect(stored.ofKey('/a/registry/example.com/lamps/n/x')).toBeUndefined();
  expect(changes).toBe(1);
});
