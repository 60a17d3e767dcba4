import { expect, test } from '@jest/globals';
import { descriptorOf } from '../../test/use-watch-cache.ts';
import { CorruptValueError, KeyUnavailableError } from '../errors.ts';
import { revision } from '../revision.ts';
import type { Entry, UnreadableEntry } from '../store.ts';
import { EntryDecoder } from './entry-decoder.ts';

const key = '/r/a/1';
const readable: Entry = { key, revision: revision(2), value: Buffer.from('text'), stale: false };
const unreadable = (more: Partial<UnreadableEntry>): Entry => ({
  key,
  revision: revision(2),
  unreadable: new CorruptValueError([key], { cause: new KeyUnavailableError('no key') }),
  retry: async () => readable,
  ...more,
});

test.each<[string, (later: Promise<void>) => Partial<UnreadableEntry>]>([
  ['is still being decrypted', (later) => ({ pending: later.then(() => readable) })],
  ['was postponed', (later) => ({ postponed: later })],
  [
    'was postponed, and then takes long',
    (later) => ({ postponed: later, retry: async () => unreadable({ pending: Promise.resolve(readable) }) }),
  ],
])('a change is complete when its value, which %s, has been decrypted', async (_, late) => {
  const { promise: later, resolve } = Promise.withResolvers<void>();
  const decoder = new EntryDecoder(descriptorOf('/r/a/'));
  const change = { key, previous: undefined, current: unreadable(late(later)) };
  const { changes, incomplete } = decoder.decodeChanges({ revision: revision(2), changes: [change] });
  expect(incomplete.map((one) => one.change)).toEqual(changes);
  expect(changes[0]?.current?.text).toBe('?');
  resolve();
  expect((await incomplete[0]?.completed)?.current?.text).toBe('text');
});

test('a change whose value was refused is complete', () => {
  const change = { key, previous: undefined, current: unreadable({}) };
  const { incomplete } = new EntryDecoder(descriptorOf('/r/a/')).decodeChanges({
    revision: revision(2),
    changes: [change],
  });
  expect(incomplete).toEqual([]);
});
