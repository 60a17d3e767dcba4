/** Header compression (HPACK, RFC 7541). It encodes literal fields only, and decodes every representation. */
import { requireValue } from '@cluster-apiserver/base';
import { Http2ProtocolError } from './frames.ts';
import { decodeHuffman } from './huffman.ts';

export type HeaderField = readonly [name: string, value: string];

const staticFields: readonly HeaderField[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', ''],
];

/** The overhead of a field in the dynamic table. */
const fieldOverheadBytes = 32;

/** The default size of the dynamic table; this decoder does not change it. */
export const tableBytesMax = 4_096;

/** More than a valid header block needs. */
const numberMax = 2 ** 24;

/** Decodes the header blocks of one connection, in order: each may refer to fields of earlier ones. */
export class HeaderDecoder {
  /** The dynamic table, newest field first. */
  readonly #table: HeaderField[] = [];
  #tableBytes = 0;
  #bytesMax = tableBytesMax;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  /** The last occurrence of a field counts; no field that is read here may be repeated. */
  decode(block: Buffer): ReadonlyMap<string, string> {
    this.#block = block;
    this.#at = 0;
    const headers = new Map<string, string>();
    while (this.#at < block.length) {
      const octet = block.readUInt8(this.#at);
      if (octet >= 0x80) {
        const [name, value] = this.#fieldAt(this.#decodeNumber(7));
        headers.set(name, value);
      } else if (octet >= 0x40) {
        const field = this.#decodeLiteral(6);
        this.#addToTable(field);
        headers.set(field[0], field[1]);
      } else if (octet >= 0x20) {
        this.#setTableSize(this.#decodeNumber(5));
      } else {
        const [name, value] = this.#decodeLiteral(4);
        headers.set(name, value);
      }
    }
    return headers;
  }

  #decodeLiteral(prefixBits: number): HeaderField {
    const index = this.#decodeNumber(prefixBits);
    const name = index === 0 ? this.#decodeText() : this.#fieldAt(index)[0];
    return [name, this.#decodeText()];
  }

  #fieldAt(index: number): HeaderField {
    const field = staticFields[index - 1] ?? this.#table[index - 1 - staticFields.length];
    if (!field) throw new Http2ProtocolError(`a header refers to field ${index}, which there is not`);
    return field;
  }

  #addToTable(field: HeaderField): void {
    this.#table.unshift(field);
    this.#tableBytes += sizeOf(field);
    this.#evict();
  }

  #setTableSize(bytes: number): void {
    if (bytes > tableBytesMax)
      throw new Http2ProtocolError(`a header table of ${bytes} bytes, limit is ${tableBytesMax}`);
    this.#bytesMax = bytes;
    this.#evict();
  }

  #evict(): void {
    while (this.#tableBytes > this.#bytesMax) {
      this.#tableBytes -= sizeOf(requireValue(this.#table.pop(), 'a table without entries has no bytes'));
    }
  }

  #nextOctet(): number {
    const octet = this.#block[this.#at++];
    if (octet === undefined) throw new Http2ProtocolError('a header block that breaks off');
    return octet;
  }

  #decodeNumber(prefixBits: number): number {
    const prefixMax = 2 ** prefixBits - 1;
    let value = this.#nextOctet() & prefixMax;
    if (value < prefixMax) return value;
    for (let factor = 1; ; factor *= 0x80) {
      const octet = this.#nextOctet();
      value += (octet & 0x7f) * factor;
      // There could also be any number of octets that add nothing.
      if (value > numberMax || factor > numberMax)
        throw new Http2ProtocolError('a header block with a number beyond all bounds');
      if (octet < 0x80) return value;
    }
  }

  #decodeText(): string {
    const isHuffman = ((this.#block[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#decodeNumber(7);
    const end = this.#at + length;
    if (end > this.#block.length) throw new Http2ProtocolError('a header block that breaks off');
    const text = this.#block.subarray(this.#at, end);
    this.#at = end;
    return isHuffman ? decodeHuffman(text) : text.toString('latin1');
  }
}

const sizeOf = ([name, value]: HeaderField): number => name.length + value.length + fieldOverheadBytes;

/**
 * A dynamic table size update to 0, which must precede the first header block after the peer has lowered its limit
 * (RFC 7541, section 4.2).
 */
export const clearTableUpdate = Buffer.from([0x20]);

/** Encodes fields without adding them to the peer's table. */
export function encodeHeaderBlock(fields: readonly HeaderField[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => {
      const index = staticFields.findIndex(([known]) => known === name) + 1;
      return [encodeNumber(index, 4), ...(index === 0 ? encodeText(name) : []), ...encodeText(value)];
    }),
  );
}

const encodeText = (text: string): readonly Buffer[] => [encodeNumber(text.length, 7), Buffer.from(text, 'latin1')];

function encodeNumber(value: number, prefixBits: number): Buffer {
  const prefixMax = 2 ** prefixBits - 1;
  if (value < prefixMax) return Buffer.from([value]);
  const octets = [prefixMax];
  let rest = value - prefixMax;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) octets.push((rest % 0x80) + 0x80);
  return Buffer.from([...octets, rest]);
}
