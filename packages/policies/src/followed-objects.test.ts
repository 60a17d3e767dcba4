import { expect, test } from '@jest/globals';
import { callUntil, systemClock } from '@cluster-apiserver/base';
import type { Resource } from '@cluster-apiserver/registry';
import { SortedSet } from '@cluster-apiserver/storage';
import { CompiledObjects, FollowedObjects } from './followed-objects.ts';

/** A collection without objects. It lacks a local write until the test delivers it. */
function openCollection() {
  const delivered = Promise.withResolvers<void>();
  const collection = {
    isFresh: true,
    subscribers: [] as (() => void)[],
    subscribe: ({ onChange }: { onChange: () => void }) => {
      collection.subscribers.push(onChange);
      return () => {};
    },
    get hasLocalWrites() {
      return collection.isFresh;
    },
    waitUntilFresh: () => (collection.isFresh ? undefined : delivered.promise),
    view: () => ({ items: SortedSet.empty() }),
    deliver: () => {
      collection.isFresh = true;
      for (const changed of collection.subscribers) changed();
      delivered.resolve();
    },
  };
  return collection;
}

test('a write waits for the objects of every kind that this replica has acknowledged, not only of the first', async () => {
  const collections = [openCollection(), openCollection()] as const;
  const objectsOf = (collection: unknown) =>
    new CompiledObjects({ collection } as unknown as Resource, function* () {
      yield;
    });
  let combined = 0;
  const followed = new FollowedObjects({
    description: 'policy',
    kinds: [objectsOf(collections[0]), objectsOf(collections[1])],
    combine: () => ++combined,
    clock: systemClock,
    compileFailed: () => {},
  });
  const call = callUntil(Number.POSITIVE_INFINITY);
  await followed.waitUntilCurrent(call);
  const before = combined;
  collections[1].isFresh = false;
  let isCurrent = false;
  const waiting = followed.waitUntilCurrent(call)?.then(() => (isCurrent = true));
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  expect(isCurrent).toBe(false);
  collections[1].deliver();
  await waiting;
  expect(combined).toBeGreaterThan(before);
  followed.close();
});
