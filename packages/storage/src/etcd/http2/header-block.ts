/** Header fields on their way (HPACK, RFC 7541): written in the plainest form there is, read in every form. */
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

/** What one remembered field counts for, besides its letters. */
const fieldOverheadBytes = 32;

/** How much a reader remembers when it has not said otherwise; ours does not. */
export const tableBytesMax = 4_096;

/** More than a header ever has; a longer number is an attack. */
const numberMax = 2 ** 24;

/** Reads one connection's header blocks, in the order of their coming: each may refer to fields of those before. */
export class HeaderDecoder {
  /** The youngest first. */
  readonly #remembered: HeaderField[] = [];
  #rememberedBytes = 0;
  #bytesMax = tableBytesMax;
  #block: Buffer = Buffer.alloc(0);
  #at = 0;

  /** A field that comes twice counts as it came last: we read none that may. */
  read(block: Buffer): ReadonlyMap<string, string> {
    this.#block = block;
    this.#at = 0;
    const headers = new Map<string, string>();
    while (this.#at < block.length) {
      const octet = block[this.#at] as number;
      if (octet >= 0x80) {
        const [name, value] = this.#field(this.#number(7));
        headers.set(name, value);
      } else if (octet >= 0x40) {
        const field = this.#literal(6);
        this.#remember(field);
        headers.set(field[0], field[1]);
      } else if (octet >= 0x20) {
        this.#limit(this.#number(5));
      } else {
        const [name, value] = this.#literal(4);
        headers.set(name, value);
      }
    }
    return headers;
  }

  #literal(prefixBits: number): HeaderField {
    const index = this.#number(prefixBits);
    const name = index === 0 ? this.#text() : this.#field(index)[0];
    return [name, this.#text()];
  }

  #field(index: number): HeaderField {
    const field = staticFields[index - 1] ?? this.#remembered[index - 1 - staticFields.length];
    if (!field) throw new Http2ProtocolError(`a header refers to field ${index}, which there is not`);
    return field;
  }

  #remember(field: HeaderField): void {
    this.#remembered.unshift(field);
    this.#rememberedBytes += sizeOf(field);
    this.#forget();
  }

  #limit(bytes: number): void {
    if (bytes > tableBytesMax)
      throw new Http2ProtocolError(`a header table of ${bytes} bytes, limit is ${tableBytesMax}`);
    this.#bytesMax = bytes;
    this.#forget();
  }

  #forget(): void {
    while (this.#rememberedBytes > this.#bytesMax) {
      this.#rememberedBytes -= sizeOf(this.#remembered.pop() as HeaderField);
    }
  }

  #octet(): number {
    const octet = this.#block[this.#at++];
    if (octet === undefined) throw new Http2ProtocolError('a header block that breaks off');
    return octet;
  }

  #number(prefixBits: number): number {
    const prefixMax = 2 ** prefixBits - 1;
    let value = this.#octet() & prefixMax;
    if (value < prefixMax) return value;
    for (let factor = 1; ; factor *= 0x80) {
      const octet = this.#octet();
      value += (octet & 0x7f) * factor;
      // Octets that add nothing could go on for ever, too.
      if (value > numberMax || factor > numberMax)
        throw new Http2ProtocolError('a header block with a number beyond all bounds');
      if (octet < 0x80) return value;
    }
  }

  #text(): string {
    const packed = ((this.#block[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#number(7);
    const end = this.#at + length;
    if (end > this.#block.length) throw new Http2ProtocolError('a header block that breaks off');
    const text = this.#block.subarray(this.#at, end);
    this.#at = end;
    return packed ? decodeHuffman(text) : text.toString('latin1');
  }
}

const sizeOf = ([name, value]: HeaderField): number => name.length + value.length + fieldOverheadBytes;

/**
 * Tells the other side that nothing is to be remembered. It stands before the first header block after the other side
 * has lowered its limit (RFC 7541, section 4.2).
 */
export const clearTableUpdate = Buffer.from([0x20]);

/** Fields that the other side need not remember. */
export function encodeHeaderBlock(fields: readonly HeaderField[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => {
      const index = staticFields.findIndex(([known]) => known === name) + 1;
      return [number(index, 4), ...(index === 0 ? text(name) : []), ...text(value)];
    }),
  );
}

const text = (text: string): readonly Buffer[] => [number(text.length, 7), Buffer.from(text, 'latin1')];

function number(value: number, prefixBits: number): Buffer {
  const prefixMax = 2 ** prefixBits - 1;
  if (value < prefixMax) return Buffer.from([value]);
  const octets = [prefixMax];
  let rest = value - prefixMax;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) octets.push((rest % 0x80) + 0x80);
  return Buffer.from([...octets, rest]);
}
