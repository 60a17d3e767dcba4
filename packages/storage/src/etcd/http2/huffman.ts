/**
 * The Huffman code of HPACK (RFC 7541, appendix B). It is canonical: shorter codes precede longer ones, and codes of one
 * length are in the order of their symbols. So the lengths determine the codes.
 */
import { Http2ProtocolError } from './frames.ts';

/** Code lengths of the octets, and last of the end-of-string symbol, whose first bits are the padding. */
const bitsOf: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26, 30,
];

const endOfText = 256;
const bitsMax = 30;

/** For each code length: the code of its first symbol, and its symbols in order. */
const lengths = ((): readonly { readonly first: number; readonly symbols: readonly number[] }[] => {
  let first = 0;
  return Array.from({ length: bitsMax + 1 }, (_, bits) => {
    const symbols = bitsOf.flatMap((length, symbol) => (length === bits ? [symbol] : []));
    const begin = first;
    first = (first + symbols.length) * 2;
    return { first: begin, symbols };
  });
})();

export function decodeHuffman(packed: Buffer): string {
  const text: number[] = [];
  let code = 0;
  let bits = 0;
  for (const octet of packed) {
    for (let bit = 7; bit >= 0; bit--) {
      code = code * 2 + ((octet >> bit) & 1);
      bits++;
      const symbol = symbolOf(code, bits);
      if (symbol === undefined) continue;
      if (symbol === endOfText) throw new Http2ProtocolError('a packed text that holds its own end');
      text.push(symbol);
      code = 0;
      bits = 0;
    }
  }
  // The padding is shorter than an octet and consists of ones.
  if (bits > 7 || code !== 2 ** bits - 1) throw new Http2ProtocolError('a packed text with a broken end');
  return Buffer.from(text).toString('latin1');
}

function symbolOf(code: number, bits: number): number | undefined {
  const length = lengths[bits];
  // No code is that long.
  if (!length) throw new Http2ProtocolError('a packed text of an unknown code');
  return length.symbols[code - length.first];
}
