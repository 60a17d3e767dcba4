/** Writes DER; the counterpart of `der.ts`. */
import { tags } from './der.ts';

export function encodeElement(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), encodeLength(content.length), content]);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes = Buffer.from(length.toString(16).padStart(8, '0'), 'hex');
  const significant = bytes.subarray(bytes.findIndex((byte) => byte !== 0));
  return Buffer.concat([Buffer.from([0x80 + significant.length]), significant]);
}

export const encodeSequence = (...parts: readonly Buffer[]): Buffer => encodeElement(tags.sequence, ...parts);

/** Its parts in the order that DER requires. */
export const encodeSet = (...parts: readonly Buffer[]): Buffer =>
  encodeElement(tags.set, ...parts.toSorted((one, other) => one.compare(other)));

export const encodeOctets = (content: Buffer): Buffer => encodeElement(tags.octetString, content);

export const encodeTrue = (): Buffer => encodeElement(tags.boolean, Buffer.from([0xff]));

/** Whole bytes, or bits from the left of which the last ones are unused. */
export const encodeBits = (content: Buffer, unusedBits = 0): Buffer =>
  encodeElement(tags.bitString, Buffer.from([unusedBits]), content);

/** From dotted form. */
export function encodeObjectIdentifier(text: string): Buffer {
  const [root = 0, first = 0, ...others] = text.split('.').map(Number);
  return encodeElement(tags.objectIdentifier, ...[root * 40 + first, ...others].map(encodeArc));
}

function encodeArc(arc: number): Buffer {
  const digits = [arc % 0x80];
  for (let rest = Math.floor(arc / 0x80); rest > 0; rest = Math.floor(rest / 0x80))
    digits.unshift(0x80 + (rest % 0x80));
  return Buffer.from(digits);
}

const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/;

/** In the narrowest type that holds it. */
export const encodeText = (text: string): Buffer =>
  encodeElement(printable.test(text) ? tags.printableString : tags.utf8String, Buffer.from(text));

/** With the century only where the two digits would be ambiguous. */
export function encodeTime(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\.\d+/, '').replace(/[-:T]/g, '');
  const isUtc = digits >= '1950' && digits < '2050';
  return encodeElement(isUtc ? tags.utcTime : tags.generalizedTime, Buffer.from(isUtc ? digits.slice(2) : digits));
}
