/** Requests for certificates, in PKCS #10. */
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { tags } from '../src/der.ts';
import { encodeBits, encodeElement, encodeObjectIdentifier, encodeSequence, encodeSet } from '../src/der-writer.ts';
import { encodeExtension } from '../src/extensions.ts';
import { algorithmOf } from '../src/issue.ts';
import { encodePublicKey, exportKey, type KeyPair } from '../src/keys.ts';
import { type NameParts, nameOf } from './test-authority.ts';

export interface WantedRequest {
  readonly subject: NameParts;
  /** Alternative names, each with its tag. */
  readonly names?: readonly (readonly [tag: number, content: Buffer])[];
  /** The value of the extension instead of names. */
  readonly malformedNames?: Buffer;
  readonly algorithm?: keyof typeof generators;
}

const generators = {
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'RSA-512': () => generateKeyPairSync('rsa', { modulusLength: 512 }),
  Ed25519: () => generateKeyPairSync('ed25519'),
} satisfies Record<string, () => KeyPair>;

/** Request and private key, both in PEM. */
export function createRequest(wanted: WantedRequest): { readonly request: string; readonly privateKey: string } {
  const { subject, names = [], malformedNames, algorithm = 'P-256' } = wanted;
  const { publicKey, privateKey }: KeyPair = generators[algorithm]();
  const encodedNames = malformedNames ?? encodeSequence(...names.map(([tag, content]) => encodeElement(tag, content)));
  const extensions = encodeSequence(encodeExtension('2.5.29.17', false, encodedNames));
  const extensionRequest = encodeSequence(encodeObjectIdentifier('1.2.840.113549.1.9.14'), encodeSet(extensions));
  const body = encodeSequence(
    encodeElement(tags.integer, Buffer.from([0])),
    nameOf(subject),
    encodePublicKey(publicKey),
    encodeElement(0xa0, extensionRequest),
  );
  return { request: toPem(encodeSigned(body, privateKey)), privateKey: exportKey(privateKey) };
}

function encodeSigned(body: Buffer, key: KeyObject): Buffer {
  const { hash, identifier } = algorithmOf(key);
  return encodeSequence(body, identifier, encodeBits(sign(hash, body, key)));
}

const toPem = (der: Buffer): string =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
