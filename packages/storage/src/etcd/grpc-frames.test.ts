import { expect, test } from '@jest/globals';
import { seededRandom } from '@cluster-apiserver/base';
import { decodeStatusMessage, encodeGrpcMessage, MessageReader, responseBytesMax } from './grpc-frames.ts';

test('messages are reassembled however the network splits them', () => {
  const random = seededRandom(7);
  const messages = Array.from({ length: 200 }, () => Buffer.alloc(random.below(400), random.below(256)));
  const stream = Buffer.concat(messages.flatMap(encodeGrpcMessage));
  for (const pieceMax of [1, 3, 7, 100, 5_000, stream.length]) {
    const reader = new MessageReader(responseBytesMax);
    const out: Buffer[] = [];
    for (let at = 0; at < stream.length; ) {
      const end = at + 1 + random.below(pieceMax);
      // The memory is reused, so messages must have been copied.
      const piece = Buffer.from(stream.subarray(at, end));
      out.push(...reader.push(piece));
      piece.fill(0);
      at = end;
    }
    expect(out).toEqual(messages);
  }
});

test('a compressed message is refused', () => {
  const framed = Buffer.concat(encodeGrpcMessage(Buffer.from('x')));
  framed[0] = 1;
  expect(() => new MessageReader(responseBytesMax).push(framed)).toThrow('compressed');
});

test('a message of 4 GB is refused before any of it is buffered', () => {
  expect(() => new MessageReader(responseBytesMax).push(Buffer.from([0, 0xff, 0xff, 0xff, 0xff]))).toThrow('limit');
});

test.each([
  ['etcdserver: no leader', 'etcdserver: no leader'],
  ['100%25 sure%0A', '100% sure\n'],
  ['100% unsure', '100% unsure'],
])('the status message %j reads %j', (sent, read) => {
  expect(decodeStatusMessage(sent)).toBe(read);
});
