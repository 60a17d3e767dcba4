import { expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import type { Entry } from '../store.ts';
import { identity, type Transformed, type Transformer } from '../transform/transformer.ts';
import { awaitKeys, entryOf, PendingEntry, readEntry } from './values.ts';

/** Values whose keys arrive when the test says so, by name. */
function openValues() {
  const keys = new Map<string, PromiseWithResolvers<void>>();
  const keyOf = (name: string): PromiseWithResolvers<void> => {
    const key = keys.get(name) ?? Promise.withResolvers<void>();
    keys.set(name, key);
    return key;
  };
  const transformer: Transformer = {
    ...identity,
    fromStorage: (value): Promise<Transformed> => keyOf(value.toString()).promise.then(() => ({ value, stale: false })),
  };
  const read = (name: string): PendingEntry => {
    const value = { key: `/r/${name}`, value: Buffer.from(name), createRevision: 1, modRevision: 1, lease: 0 };
    const entry = readEntry(transformer, value);
    if (!(entry instanceof PendingEntry)) throw new Error('its key is not there yet');
    return entry;
  };
  return {
    read,
    arrive: (name: string) => keyOf(name).resolve(),
    refuse: (name: string) => keyOf(name).reject(new Error('refused')),
  };
}
const stateOf = (read: PendingEntry): string => {
  const entry: Entry = entryOf(read);
  if (!entry.unreadable) return 'read';
  return entry.unreadable.isPermanent ? 'refused' : 'unavailable';
};
const settle = () => new Promise(setImmediate);

test('values wait for their keys as long as one arrives in time, however many there are', async () => {
  const clock = fakeClock();
  const { read, arrive } = openValues();
  const names = Array.from({ length: 20 }, (_, n) => `${n}`);
  const entries = names.map(read);
  const waiting = awaitKeys(clock, entries, 1_000);
  for (const name of names) {
    clock.advance(900);
    arrive(name);
    await settle();
  }
  await waiting;
  expect(new Set(entries.map(stateOf))).toEqual(new Set(['read']));
});

test('after a key has not arrived in time, no other value is waited for, and those whose keys have arrived are read', async () => {
  const clock = fakeClock();
  const { read, arrive, refuse } = openValues();
  const entries = ['hanging', 'quick', 'refused', 'hanging, too'].map(read);
  const waiting = awaitKeys(clock, entries, 1_000);
  arrive('quick');
  refuse('refused');
  await settle();
  clock.advance(1_000);
  await waiting;
  expect(entries.map(stateOf)).toEqual(['unavailable', 'read', 'refused', 'unavailable']);
});

test('without a timeout, values wait for their keys', async () => {
  const { read, arrive } = openValues();
  const entry = read('a');
  const waiting = awaitKeys(systemClock, [entry], Number.POSITIVE_INFINITY);
  await settle();
  arrive('a');
  await waiting;
  expect(stateOf(entry)).toBe('read');
});
