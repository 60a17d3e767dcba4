import { createPrivateKey, createPublicKey, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import type { Random } from '@cluster-apiserver/base';
import { type Certificate, parseCertificate } from './certificate.ts';
import { readElements, requireTag, tags } from './der.ts';
import { encodeBits, encodeElement, encodeObjectIdentifier, encodeSequence, encodeTime } from './der-writer.ts';
import { encodeAuthorityKey, subjectKeyIdentifier } from './extensions.ts';
import type { Credentials } from './keys.ts';
import { createSerialNumber, type Validity } from './validity.ts';

/** Who signs. */
export interface Issuer {
  readonly encodedName: Buffer;
  readonly key: KeyObject;
  /** Of its key, as its own certificate has it; undefined if it has none. */
  readonly keyId: Buffer | undefined;
}

/** What is signed, as it stands in the certificate. */
export interface CertificateContent extends Validity {
  readonly subject: Buffer;
  readonly publicKey: Buffer;
  readonly extensions: readonly Buffer[];
}

/** Throws if the private key does not belong to the certificate. */
export function openIssuer({
  certificate: pem,
  privateKey,
}: Credentials): Issuer & { readonly certificate: Certificate } {
  const certificate = parseCertificate(new X509Certificate(pem).raw);
  const key = createPrivateKey(privateKey);
  if (!createPublicKey(key).equals(certificate.openSsl.publicKey))
    throw new Error('the private key does not belong to the certificate');
  const keyId = certificate.extensions.get(subjectKeyIdentifier);
  return {
    certificate,
    encodedName: certificate.encodedSubject,
    key,
    keyId: keyId && requireTag(readElements(keyId.value)[0], tags.octetString),
  };
}

/** Returns the certificate in PEM. */
export async function issueCertificate(
  { encodedName, key, keyId }: Issuer,
  { subject, publicKey, notBeforeMs, notAfterMs, extensions }: CertificateContent,
  random: Random,
): Promise<string> {
  const { hash, identifier } = algorithmOf(key);
  const body = encodeSequence(
    version3,
    encodeElement(tags.integer, Buffer.from(createSerialNumber(random), 'hex')),
    identifier,
    encodedName,
    encodeSequence(encodeTime(notBeforeMs), encodeTime(notAfterMs)),
    subject,
    publicKey,
    encodeElement(extensionsTag, encodeSequence(...extensions, ...(keyId ? [encodeAuthorityKey(keyId)] : []))),
  );
  // In another thread: RSA takes milliseconds.
  const der = encodeSequence(body, identifier, encodeBits(await promisify(sign)(hash, body, key)));
  return new X509Certificate(der).toString();
}

const version3 = encodeElement(0xa0, encodeElement(tags.integer, Buffer.from([2])));
/** `[3]` of the certificate's body. */
const extensionsTag = 0xa3;

interface Algorithm {
  /** Null for algorithms that name none. */
  readonly hash: string | null;
  readonly identifier: Buffer;
}

/** How a key signs. Throws for keys that no certificate of this server is signed with. */
export function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): Algorithm {
  const found = algorithms.get(type === 'ec' ? details.namedCurve : type);
  if (!found) throw new Error('the key is not of RSA, of a NIST curve or of Ed25519');
  return found;
}

const algorithm = (hash: string | null, id: string, ...parameters: readonly Buffer[]): Algorithm => ({
  hash,
  identifier: encodeSequence(encodeObjectIdentifier(id), ...parameters),
});

/** By the type of the key, or the name of its curve. */
const algorithms: ReadonlyMap<string | undefined, Algorithm> = new Map([
  ['rsa', algorithm('sha256', '1.2.840.113549.1.1.11', encodeElement(tags.null))],
  ['prime256v1', algorithm('sha256', '1.2.840.10045.4.3.2')],
  ['secp384r1', algorithm('sha384', '1.2.840.10045.4.3.3')],
  ['secp521r1', algorithm('sha512', '1.2.840.10045.4.3.4')],
  ['ed25519', algorithm(null, '1.3.101.112')],
]);
