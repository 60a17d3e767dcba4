/**
 * Decodes HPACK header blocks of a server whose client allows no dynamic table (SETTINGS_HEADER_TABLE_SIZE 0).
 * Throws otherwise, so a block that depends on a table is reported as malformed.
 */
import type { Field } from '@cluster-apiserver/testkit/http2-frames';

export function decodeHeaderBlock(block: Buffer): Field[] {
  const fields: Field[] = [];
  let at = 0;

  const integer = (prefixBits: number): number => {
    const max = (1 << prefixBits) - 1;
    let value = byte() & max;
    if (value < max) return value;
    for (let shift = 0; ; shift += 7) {
      const next = byte();
      value += (next & 127) << shift;
      if (next < 128) return value;
      if (shift > 21) throw new Error('HPACK integer is too large');
    }
  };
  const byte = (): number => {
    const value = block[at++];
    if (value === undefined) throw new Error('HPACK block is truncated');
    return value;
  };
  const text = (): string => {
    const huffman = ((block[at] ?? 0) & 128) !== 0;
    const length = integer(7);
    if (at + length > block.length) throw new Error('HPACK string is truncated');
    const bytes = block.subarray(at, at + length);
    at += length;
    return huffman ? decodeHuffman(bytes) : bytes.toString('latin1');
  };
  const indexedField = (index: number): Field => {
    const field = staticTable[index - 1];
    if (!field) throw new Error(`HPACK index ${index} refers to the dynamic table`);
    return field;
  };
  const literal = (prefixBits: number): Field => {
    const index = integer(prefixBits);
    const name = index === 0 ? text() : indexedField(index)[0];
    return [name, text()];
  };

  while (at < block.length) {
    const first = block[at] ?? 0;
    if (first & 0x80) fields.push(indexedField(integer(7)));
    else if (first & 0x40) fields.push(literal(6));
    else if (first & 0x20)
      integer(5); // dynamic table size update
    else fields.push(literal(4));
  }
  return fields;
}

/** RFC 7541, appendix A. */
const staticTable: readonly Field[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  ...['200', '204', '206', '304', '400', '404', '500'].map((status): Field => [':status', status]),
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ...[
    ...['accept-language', 'accept-ranges', 'accept', 'access-control-allow-origin', 'age', 'allow', 'authorization'],
    ...['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'content-length'],
    ...['content-location', 'content-range', 'content-type', 'cookie', 'date', 'etag', 'expect', 'expires', 'from'],
    ...['host', 'if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'last-modified'],
    ...['link', 'location', 'max-forwards', 'proxy-authenticate', 'proxy-authorization', 'range', 'referer', 'refresh'],
    ...['retry-after', 'server', 'set-cookie', 'strict-transport-security', 'transfer-encoding', 'user-agent', 'vary'],
    ...['via', 'www-authenticate'],
  ].map((name): Field => [name, '']),
];

/**
 * Characters by the length of their codes (RFC 7541, appendix B). The code is canonical: codes of equal length are
 * consecutive in the order of the characters. Control characters, whose codes are longer, never occur in responses.
 */
const codeLengths: Readonly<Record<number, readonly number[]>> = {
  ...Object.fromEntries(
    Object.entries({
      5: '012aceiost',
      6: ' %-./3456789=A_bdfghlmnpru',
      7: ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz',
      8: '&*,;XZ',
      10: '!"()?',
      11: "'+|",
      12: '#>',
      13: '\0$@[]~',
      14: '^}',
      15: '<`{',
    }).map(([length, characters]) => [length, Array.from(characters, (character) => character.charCodeAt(0))]),
  ),
  19: [92, 195, 208],
  20: [128, 130, 131, 162, 184, 194, 224, 226],
  21: [153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230],
  22: [
    ...[129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173, 178, 181, 185, 186, 187, 189, 190, 196],
    ...[198, 228, 232, 233],
  ],
  23: [
    ...[1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155, 157, 158, 165, 166, 168, 174, 175, 180],
    ...[182, 183, 188, 191, 197, 231, 239],
  ],
  24: [9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237],
  25: [199, 207, 234, 235],
  26: [192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243, 255],
  27: [203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248, 250, 251, 252, 253, 254],
};
const codeBitsMax = 27;

/** Characters by the length and the value of their codes, as `length * 2^27 + code`. */
const huffmanCodes = new Map<number, string>();
{
  let code = 0;
  for (let length = 5; length <= codeBitsMax; length++) {
    for (const character of codeLengths[length] ?? [])
      huffmanCodes.set(length * 2 ** codeBitsMax + code++, String.fromCharCode(character));
    code <<= 1;
  }
}

function decodeHuffman(bytes: Buffer): string {
  let decoded = '';
  let code = 0;
  let length = 0;
  for (const byte of bytes) {
    for (let bit = 7; bit >= 0; bit--) {
      code = (code << 1) | ((byte >> bit) & 1);
      length++;
      const character = huffmanCodes.get(length * 2 ** codeBitsMax + code);
      if (character !== undefined) {
        decoded += character;
        code = 0;
        length = 0;
      } else if (length > codeBitsMax) throw new Error('HPACK Huffman code of a control character');
    }
  }
  // The rest is padding: the most significant bits of the end-of-string code, all ones.
  if (length > 7 || code !== (1 << length) - 1) throw new Error('HPACK Huffman padding is invalid');
  return decoded;
}
