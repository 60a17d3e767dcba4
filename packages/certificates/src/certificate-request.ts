import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { decodePemBlock, pemBlocks } from '@cluster-apiserver/base';
import { isUsableKey, readExtensions, readSubject } from './certificate.ts';
import { type Element, encodedOf, readElements, readObjectIdentifier, requireTag, tags } from './der.ts';

/** Names and a key that a requester wants certified, signed with that key. */
export interface CertificateRequest {
  readonly publicKey: KeyObject;
  /** The values of a subject attribute by its object identifier, in order. Throws if one is no text. */
  subject(attribute: string): readonly string[];
  /** The subject alternative names that it asks for. Throws a CertificateRequestError if they are malformed. */
  alternativeNames(): readonly Element[];
  /** The key as it stands in the request. */
  readonly encodedPublicKey: Buffer;
}

/** Why a request is not acceptable. */
export class CertificateRequestError extends Error {
  override readonly name = 'CertificateRequestError';
}

/** Reads PKCS #10 from PEM and verifies its signature. The first block counts. Throws a CertificateRequestError. */
export function readCertificateRequest(pem: string): CertificateRequest {
  const [first] = pemBlocks(pem);
  const der = first?.label === 'CERTIFICATE REQUEST' && decodePemBlock(first)?.bytes;
  if (!der) throw new CertificateRequestError('PEM block type must be CERTIFICATE REQUEST');
  const { request, body, algorithm, signature } = parse(der);
  if (!isUsableKey(request.publicKey)) throw new CertificateRequestError('the key is weak, or of an unsupported type');
  const hash = hashes.get(algorithm);
  if (hash === undefined) throw new CertificateRequestError('x509: cannot verify signature: algorithm unimplemented');
  if (!verify(hash, body, request.publicKey, signature))
    throw new CertificateRequestError(
      failures.get(request.publicKey.asymmetricKeyType) ?? 'crypto/rsa: verification error',
    );
  return request;
}

interface Parsed {
  readonly request: CertificateRequest;
  /** What is signed. */
  readonly body: Buffer;
  readonly algorithm: string;
  readonly signature: Buffer;
}

function parse(der: Buffer): Parsed {
  try {
    const [whole, ...rest] = readElements(der);
    if (rest.length > 0) throw new RangeError('there are bytes after the request');
    const [body, algorithm, signature] = readElements(requireTag(whole, tags.sequence));
    const [, subject, key, attributes] = readElements(requireTag(body, tags.sequence));
    const names = requireTag(subject, tags.sequence);
    requireTag(key, tags.sequence);
    const [type] = readElements(requireTag(algorithm, tags.sequence));
    const bits = requireTag(signature, tags.bitString);
    if (!body || !key || bits[0] !== 0) throw new TypeError('the request is incomplete');
    return {
      request: {
        publicKey: createPublicKey({ key: encodedOf(key), format: 'der', type: 'spki' }),
        subject: (attribute) => readSubject(names, attribute),
        alternativeNames: () => readAlternativeNames(attributes),
        encodedPublicKey: encodedOf(key),
      },
      body: encodedOf(body),
      algorithm: readObjectIdentifier(requireTag(type, tags.objectIdentifier)),
      signature: bits.subarray(1),
    };
  } catch (cause) {
    // Clients control the bytes, and parsers throw many kinds of errors.
    throw new CertificateRequestError('x509: malformed certificate request', { cause });
  }
}

/** `[0]` of the body of a request. */
const attributesTag = 0xa0;
const extensionRequest = '1.2.840.113549.1.9.14';
const subjectAlternativeName = '2.5.29.17';

function readAlternativeNames(attributes: Element | undefined): readonly Element[] {
  if (attributes?.tag !== attributesTag) return [];
  try {
    for (const attribute of readElements(attributes.content)) {
      const [type, values] = readElements(requireTag(attribute, tags.sequence));
      if (readObjectIdentifier(requireTag(type, tags.objectIdentifier)) !== extensionRequest) continue;
      const names = readExtensions(readElements(requireTag(values, tags.set))[0]).get(subjectAlternativeName);
      if (names) return readElements(requireTag(readElements(names.value)[0], tags.sequence));
    }
    return [];
  } catch (cause) {
    throw new CertificateRequestError('x509: malformed extension request', { cause });
  }
}

/** By the algorithms of signatures; EdDSA names no hash. */
const hashes: ReadonlyMap<string, string | null> = new Map([
  ['1.2.840.113549.1.1.5', 'sha1'],
  ['1.2.840.113549.1.1.11', 'sha256'],
  ['1.2.840.113549.1.1.12', 'sha384'],
  ['1.2.840.113549.1.1.13', 'sha512'],
  ['1.2.840.10045.4.1', 'sha1'],
  ['1.2.840.10045.4.3.2', 'sha256'],
  ['1.2.840.10045.4.3.3', 'sha384'],
  ['1.2.840.10045.4.3.4', 'sha512'],
  ['1.3.101.112', null],
]);

const failures: ReadonlyMap<string | undefined, string> = new Map([
  ['ec', 'x509: ECDSA verification failure'],
  ['ed25519', 'x509: Ed25519 verification failure'],
]);
