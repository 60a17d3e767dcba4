/** Reads DER in one pass: a client can send thousands of attributes. */

export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  /** Of the tag and the length, which precede the content. */
  readonly headerBytes: number;
}

/** The elements of a constructed value. Throws if the bytes are malformed. */
export function readElements(bytes: Buffer): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt8(at);
    if ((tag & 0x1f) === 0x1f) throw new RangeError('a tag of several bytes is not supported');
    const first = bytes.readUInt8(at + 1);
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
    if (first === 0x80 || lengthBytes > lengthBytesMax) throw new RangeError('the length is not supported');
    const start = at + 2 + lengthBytes;
    const end = start + (lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes));
    if (end > bytes.length) throw new RangeError('the value is longer than its container');
    elements.push({ tag, content: bytes.subarray(start, end), headerBytes: start - at });
    at = end;
  }
  return elements;
}

const lengthBytesMax = 4;

/** The element with its tag and length. */
export const encodedOf = ({ content, headerBytes }: Element): Buffer =>
  Buffer.from(content.buffer, content.byteOffset - headerBytes, headerBytes + content.length);

/** The next element, which must have this tag. */
export function requireTag(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new TypeError('the value has another type');
  return element.content;
}

export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** In dotted form, such as 2.5.4.3. */
export function readObjectIdentifier(content: Buffer): string {
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of content) {
    arc = arc * 0x80 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    arcs.push(arc);
    arc = 0;
  }
  const [first = 0, ...others] = arcs;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...others].join('.');
}

/** Text of the types that certificates use. Throws for others, and for bytes that are no text of the type. */
export function readText({ tag, content }: Element): string {
  const decode = decoders.get(tag);
  if (!decode) throw new TypeError('the text has an unsupported type');
  return decode(content);
}

function decodeAscii(content: Buffer): string {
  if (content.some((byte) => byte >= 0x80)) throw new RangeError('the text is not ASCII');
  return content.toString('latin1');
}

const decodeUtf8 = (content: Buffer): string =>
  new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content);
const decodeUtf16 = (content: Buffer): string =>
  new TextDecoder('utf-16be', { fatal: true, ignoreBOM: true }).decode(content);

const decoders: ReadonlyMap<number, (content: Buffer) => string> = new Map([
  [0x0c, decodeUtf8],
  [0x12, decodeAscii], // NumericString
  [0x13, decodeAscii], // PrintableString
  // T61String: all who still use it mean Latin-1.
  [0x14, (content: Buffer) => content.toString('latin1')],
  [0x16, decodeAscii], // IA5String
  [0x1e, decodeUtf16], // BMPString
]);
