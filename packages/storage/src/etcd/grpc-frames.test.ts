import { expect, test } from '@jest/globals';
import { requireValue } from '@cluster-apiserver/base';
import { array, assert, constantFrom, integer, nat, property, tuple } from 'fast-check';
import { decodeStatusMessage, encodeGrpcMessage, MessageReader, responseBytesMax } from './grpc-frames.ts';

test('messages are reassembled however the network splits them', () => {
  const anyMessage = tuple(nat(399), nat(255)).map(([length, byte]) => Buffer.alloc(length, byte));
  const anyPieces = constantFrom(1, 3, 7, 100, 5_000).chain((max) => array(integer({ min: 1, max }), { minLength: 1 }));
  assert(
    property(array(anyMessage, { maxLength: 200, size: 'max' }), anyPieces, (messages, pieces) => {
      const stream = Buffer.concat(messages.flatMap(encodeGrpcMessage));
      const reader = new MessageReader(responseBytesMax);
      const out: Buffer[] = [];
      for (let [at, number] = [0, 0]; at < stream.length; number++) {
        const end = at + requireValue(pieces[number % pieces.length]);
        // The memory is reused, so messages must have been copied.
        const piece = Buffer.from(stream.subarray(at, end));
        out.push(...reader.push(piece));
        piece.fill(0);
        at = end;
      }
      expect(out).toEqual(messages);
    }),
    { numRuns: 15, seed: 7 },
  );
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
