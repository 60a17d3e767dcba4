import { expect, test } from '@jest/globals';
import { HeaderDecoder, encodeHeaderBlock } from './header-block.ts';

const bytes = (...octets: number[]): Buffer => Buffer.from(octets);
const read = (...blocks: readonly Buffer[]): ReadonlyMap<string, string>[] => {
  const reader = new HeaderDecoder();
  return blocks.map((block) => reader.decode(block));
};

test('encoded headers decode to the same fields', () => {
  const fields = [
    [':path', '/etcdserverpb.KV/Range'],
    ['content-type', 'application/grpc'],
    ['long', 'x'.repeat(100_000)],
    ['empty', ''],
  ] as const;
  expect([...(read(encodeHeaderBlock(fields))[0] ?? [])]).toEqual(fields);
});

test('an indexed field can be referenced until it is evicted', () => {
  const remembered = Buffer.concat([bytes(0x40, 1), Buffer.from('a'), bytes(1), Buffer.from('b')]);
  const large = Buffer.concat([bytes(0x40, 1), Buffer.from('c'), bytes(0x7f, 0xdd, 0x1e), Buffer.alloc(4_060, 'd')]);
  const reference = bytes(0x80 | 62);
  expect(read(remembered, reference, Buffer.concat([large, reference])).map((headers) => [...headers.keys()])).toEqual([
    ['a'],
    ['a'],
    ['c'],
  ]);
  expect(() => read(remembered, large, bytes(0x80 | 63))).toThrow('refers to field 63');
});

test('a smaller table evicts fields', () => {
  const remembered = Buffer.concat([bytes(0x40, 1), Buffer.from('a'), bytes(1), Buffer.from('b')]);
  expect(() => read(remembered, bytes(0x20, 0x80 | 62))).toThrow('refers to field 62');
});

test.each([
  ['a number without an end', bytes(0xff, 0x80), 'breaks off'],
  ['a number beyond all bounds', bytes(0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), 'beyond all bounds'],
  ['a number of nothing', Buffer.concat([bytes(0x3f), Buffer.alloc(200, 0x80), bytes(0)]), 'beyond all bounds'],
  ['a name that is longer than the block', bytes(0x00, 5, 0x61), 'breaks off'],
  ['a field without a value', bytes(0x00, 1, 0x61), 'breaks off'],
  ['field 0', bytes(0x80), 'refers to field 0'],
  ['a table larger than ours', bytes(0x3f, 0xe2, 0x1f), 'limit is 4096'],
  ['a packed text that holds its end', bytes(0x04, 0x84, 0xff, 0xff, 0xff, 0xff), 'holds its own end'],
  ['a packed text filled up with zeros', bytes(0x04, 0x81, 0x00 | 0x18), 'broken end'],
  ['a packed text filled up with a whole octet', bytes(0x04, 0x82, 0x1f, 0xff), 'broken end'],
])('%s is refused', (_, block, fault) => {
  expect(() => read(block)).toThrow(fault);
});
