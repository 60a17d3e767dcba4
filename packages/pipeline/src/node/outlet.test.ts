import { expect, test } from '@jest/globals';
import { pieceBytes } from './limits.ts';
import { piecesOf } from './outlet.ts';

test.each([0, 1, pieceBytes - 1, pieceBytes, pieceBytes + 1, 3 * pieceBytes + 5])(
  '%s bytes are cut into pieces that are never too long and lose nothing',
  (length) => {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => i % 251));
    for (const form of [bytes, bytes.toString('latin1')]) {
      const pieces = [...piecesOf(form, Buffer.allocUnsafe)];
      expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
      expect(pieces.every((piece) => piece.length > 0 && piece.length <= pieceBytes)).toBe(true);
    }
  },
);
