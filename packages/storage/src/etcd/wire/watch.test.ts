import { expect, test } from '@jest/globals';
import { encodeMessage, writeBytes, writeInt64, writeNested } from '../../protobuf/fields.ts';
import { decodeWatchMessage, eventsOfMessage } from './watch.ts';

const encodeEvents = (keys: readonly (string | undefined)[]): Buffer =>
  Buffer.from(
    encodeMessage((to) => {
      writeNested(to, 1, (header) => writeInt64(header, 3, 9));
      for (const key of keys)
        writeNested(to, 11, (event) => {
          if (key !== undefined) writeNested(event, 2, (current) => writeBytes(current, 1, key));
        });
    }),
  );

test('the events of a message are counted, and decoded in order', () => {
  const message = decodeWatchMessage(encodeEvents(['a', 'b', 'c']));
  expect(message.header.revision).toBe(9);
  expect(message.size).toBe(3);
  expect([...eventsOfMessage(message)].map(({ current }) => current.key)).toEqual(['a', 'b', 'c']);
});

test('an event is decoded when it is needed', () => {
  const events = eventsOfMessage(decodeWatchMessage(encodeEvents(['a', undefined])));
  expect(events.next().value?.current.key).toBe('a');
  expect(() => events.next()).toThrow('names no key');
});
