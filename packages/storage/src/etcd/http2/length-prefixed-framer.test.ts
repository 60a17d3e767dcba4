import { expect, test } from '@jest/globals';
import { LengthPrefixedFramer } from './length-prefixed-framer.ts';

/** A head of one byte, which is the length. */
const frameOf = (text: string): Buffer => Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
const frames = Buffer.concat(['first', '', 'second', 'a long one', 'x'].map(frameOf));

function split(pieceBytes: number, reusedBytes: number): { texts: string[]; buffers: Set<ArrayBufferLike> } {
  const framer = new LengthPrefixedFramer(1, (head, at) => head.readUInt8(at), reusedBytes);
  const texts: string[] = [];
  const buffers = new Set<ArrayBufferLike>();
  for (let at = 0; at < frames.length; at += pieceBytes) {
    const piece = Buffer.from(frames.subarray(at, at + pieceBytes));
    framer.push(piece, (held, start, end) => {
      texts.push(held.toString('utf8', start + 1, end));
      if (held !== piece) buffers.add(held.buffer);
    });
  }
  return { texts, buffers };
}

test.each([1, 2, 3, 4, 7, 8, 16, 64])('frames in pieces of %d bytes are complete and in order', (pieceBytes) => {
  for (const reusedBytes of [0, 8, 64])
    expect(split(pieceBytes, reusedBytes).texts).toEqual(['first', '', 'second', 'a long one', 'x']);
});

test('small frames that arrive in pieces share one buffer', () => {
  expect(split(3, 64).buffers.size).toBe(1);
});
