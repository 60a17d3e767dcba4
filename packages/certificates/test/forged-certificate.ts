import { type KeyObject, randomBytes } from 'node:crypto';

/** A certificate with any key and any signature: the keys that take longest to check take minutes to generate. */
export interface ForgedCertificate {
  readonly subject: string;
  readonly issuer: string;
  readonly publicKey: Buffer;
  readonly authority?: boolean;
  /** Attributes of the subject behind its common name, encoded. */
  readonly attributes?: readonly Buffer[];
  readonly extensions?: readonly Buffer[];
  /** Random bytes by default. */
  readonly sign?: (body: Buffer) => Buffer;
}

export function forgeCertificate(options: ForgedCertificate): Buffer {
  const { subject, issuer, publicKey, authority = false, attributes = [], extensions = [] } = options;
  const sign = options.sign ?? (() => randomBytes(2048));
  const constraints = sequence(objectIdentifier('551d13'), element(4, sequence(...(authority ? [yes] : []))));
  const body = sequence(
    element(0xa0, element(2, Buffer.of(2))),
    element(2, Buffer.concat([Buffer.of(1), randomBytes(8)])),
    ecdsaWithSha256,
    sequence(commonName(issuer)),
    sequence(element(0x17, Buffer.from('240101000000Z')), element(0x17, Buffer.from('490101000000Z'))),
    sequence(commonName(subject), ...attributes),
    publicKey,
    element(0xa3, sequence(constraints, ...extensions)),
  );
  return sequence(body, ecdsaWithSha256, element(3, Buffer.of(0), sign(body)));
}

/** An RSA key whose private key nobody knows. */
export function forgeRsaKey(bits: number, exponent: Buffer): Buffer {
  const modulus = randomBytes(bits / 8);
  modulus.writeUInt8(modulus.readUInt8(0) | 0x80, 0);
  modulus.writeUInt8(modulus.readUInt8(modulus.length - 1) | 1, modulus.length - 1);
  const numbers = [modulus, exponent].map((number) => element(2, Buffer.of(0), number));
  return sequence(
    sequence(objectIdentifier('2a864886f70d010101'), element(5)),
    element(3, Buffer.of(0), sequence(...numbers)),
  );
}

export const encodePublicKey = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

/** An attribute of a subject, with the tag of its text. */
export const attribute = (type: string, tag: number, text: Buffer): Buffer =>
  element(0x31, sequence(objectIdentifier(type), element(tag, text)));

export const extension = (type: string, value: Buffer): Buffer => sequence(objectIdentifier(type), element(4, value));

export const sequence = (...contents: readonly Buffer[]): Buffer => element(0x30, ...contents);

export function element(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}

export const objectIdentifier = (hex: string): Buffer => element(6, Buffer.from(hex, 'hex'));

const yes = element(1, Buffer.of(0xff));
const commonName = (name: string): Buffer => attribute('550403', 0x0c, Buffer.from(name));
const ecdsaWithSha256 = sequence(objectIdentifier('2a8648ce3d040302'));
