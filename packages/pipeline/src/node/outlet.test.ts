import { expect, test } from '@jest/globals';
import { pieceBytes } from './limits.ts';
import { piecesOf } from './outlet.ts';

test.each([
  ['nothing', []],
  ['empty buffers', [0, 0]],
  ['one small', [10]],
  ['exactly one piece', [pieceBytes]],
  ['one byte more', [pieceBytes + 1]],
  ['many small', Array.from({ length: 1_000 }, (_, i) => i)],
  ['large between small', [1, 3 * pieceBytes + 5, 7]],
])('%s is cut into pieces that are never too long and lose nothing', (_what, lengths: number[]) => {
  const buffers = lengths.map((length, i) => Buffer.alloc(length, i));
  const pieces = [...piecesOf(buffers)];
  expect(Buffer.concat(pieces).equals(Buffer.concat(buffers))).toBe(true);
  expect(pieces.slice(0, -1).every(({ length }) => length === pieceBytes)).toBe(true);
  expect(pieces.every(({ length }) => length > 0 && length <= pieceBytes)).toBe(true);
});
