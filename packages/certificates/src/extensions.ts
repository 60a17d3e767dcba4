import { isIP } from 'node:net';
import { hash } from 'node:crypto';
import { type Element, readElements, requireTag, tags } from './der.ts';
import {
  encodeBits,
  encodeElement,
  encodeObjectIdentifier,
  encodeOctets,
  encodeSequence,
  encodeTrue,
} from './der-writer.ts';

/** Names in a server certificate. Clients compare the requested host with `hosts` and ignore the common name. */
export interface CertificateNames {
  readonly commonName: string;
  /** DNS names and IP addresses, in any order; at least one. */
  readonly hosts: readonly string[];
}

/** Bits of the key usage, from the left. */
export const keyUsages = { digitalSignature: 0x80, keyEncipherment: 0x20, keyCertSign: 0x04, crlSign: 0x02 } as const;
export const extendedKeyUsages = { serverAuth: '1.3.6.1.5.5.7.3.1', clientAuth: '1.3.6.1.5.5.7.3.2' } as const;

export const subjectKeyIdentifier = '2.5.29.14';

export const encodeExtension = (id: string, isCritical: boolean, value: Buffer): Buffer =>
  encodeSequence(encodeObjectIdentifier(id), ...(isCritical ? [encodeTrue()] : []), encodeOctets(value));

/** Of an authority, whose paths have at most this length, or of a leaf. */
export const encodeBasicConstraints = (isAuthority: boolean, pathLength?: number): Buffer =>
  encodeExtension(
    '2.5.29.19',
    true,
    encodeSequence(
      ...(isAuthority ? [encodeTrue()] : []),
      ...(pathLength === undefined ? [] : [encodeElement(tags.integer, Buffer.from([pathLength]))]),
    ),
  );

/** None without bits. */
export function encodeKeyUsage(bits: number): readonly Buffer[] {
  if (bits === 0) return [];
  // The bits end with the last one that is set.
  const unused = /0*$/.exec(bits.toString(2))?.[0].length;
  return [encodeExtension('2.5.29.15', true, encodeBits(Buffer.from([bits]), unused))];
}

export const encodeExtendedKeyUsage = (usages: readonly string[]): readonly Buffer[] =>
  usages.length === 0
    ? []
    : [encodeExtension('2.5.29.37', false, encodeSequence(...usages.map(encodeObjectIdentifier)))];

/** The usual number of a key: the hash of its bits. */
export function keyIdOf(encodedPublicKey: Buffer): Buffer {
  const [, bits] = readElements(requireTag(readElements(encodedPublicKey)[0], tags.sequence));
  return hash('sha1', requireTag(bits, tags.bitString).subarray(1), 'buffer');
}

export const encodeSubjectKey = (encodedPublicKey: Buffer): Buffer =>
  encodeExtension(subjectKeyIdentifier, false, encodeOctets(keyIdOf(encodedPublicKey)));

export const encodeAuthorityKey = (keyId: Buffer): Buffer =>
  encodeExtension('2.5.29.35', false, encodeSequence(encodeElement(0x80, keyId)));

/** Tags of names. */
export const nameTags = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;

export const encodeAlternativeNames = (
  names: readonly Pick<Element, 'tag' | 'content'>[],
  isCritical = false,
): readonly Buffer[] =>
  names.length === 0
    ? []
    : [
        encodeExtension(
          '2.5.29.17',
          isCritical,
          encodeSequence(...names.map(({ tag, content }) => encodeElement(tag, content))),
        ),
      ];

export const toName = (host: string): Pick<Element, 'tag' | 'content'> =>
  isIP(host) ? { tag: nameTags.ip, content: addressBytes(host) } : { tag: nameTags.dns, content: Buffer.from(host) };

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // The canonical form has no address of version 4 at its end.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));
  const [first, last] = [groups(head), groups(tail ?? '')];
  const zeros = Array.from({ length: 8 - first.length - last.length }, () => '0');
  return Buffer.from([...first, ...zeros, ...last].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
