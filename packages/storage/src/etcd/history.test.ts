import { expect, test } from '@jest/globals';
import { usedBufferBytes } from '@cluster-apiserver/testkit/garbage';
import { History } from './history.ts';

test('the latest value keeps nothing in memory of the message that it was read from', () => {
  const messageBytes = 8 * 1024 * 1024;
  const valueIn = (message: Buffer): Buffer => message.subarray(0, 100);
  const before = usedBufferBytes();
  const count = 10;
  const histories = Array.from({ length: count }, () => {
    const history = new History();
    history.noteValue({ key: '/a', modRevision: 1, value: valueIn(Buffer.alloc(messageBytes)) }, history.number);
    return history;
  });
  // The interpreter, and code that is compiled meanwhile, may still refer to some of the messages, but not to all.
  expect(usedBufferBytes() - before).toBeLessThan((count / 2) * messageBytes);
  for (const { anchor } of histories) expect(anchor?.value).toEqual(Buffer.alloc(100));
});
