import { expect, test } from '@jest/globals';
import protobuf from 'protobufjs/minimal.js';
import { decodeMessage, readInt64 } from './fields.ts';

test.each([0, 1, 127, 128, 2 ** 31, 2 ** 32, 2 ** 49 - 1, 2 ** 49, 2 ** 53 - 1, -1, -(2 ** 31)])(
  'reads %d as it was written',
  (value) => {
    const bytes = Buffer.from(protobuf.Writer.create().int64(value).uint32(7).finish());
    const reader = protobuf.Reader.create(bytes);
    expect(readInt64(reader)).toBe(value);
    expect(reader.uint32()).toBe(7);
  },
);

test.each([
  ['a number cut off', [0x08, 0x80]],
  ['bytes cut off', [0x0a, 0x05, 0x01]],
  ['a number without end', [0x08, ...Array.from({ length: 12 }, () => 0xff)]],
])('%s ends in an error, not in a loop', (_, bytes) => {
  expect(() =>
    decodeMessage(Buffer.from(bytes), (field, reader) => {
      if (field !== 1) return false;
      if (bytes[0] === 0x08) readInt64(reader);
      else reader.bytes();
      return true;
    }),
  ).toThrow();
});
