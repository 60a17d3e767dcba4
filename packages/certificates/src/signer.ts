import type { Random } from '@cluster-apiserver/base';
import { createPrivateKey, createPublicKey, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { promisify } from 'node:util';
import { parseCertificate, readBasicConstraints, isUsableKey } from './certificate.ts';
import type { CertificateRequest } from './certificate-request.ts';
import { readElements, requireTag, tags } from './der.ts';
import {
  encodeBits,
  encodeElement,
  encodeObjectIdentifier,
  encodeOctets,
  encodeSequence,
  encodeSet,
  encodeText,
  encodeTime,
  encodeTrue,
} from './der-writer.ts';
import type { Credentials } from './keys.ts';
import { createSerialNumber } from './validity.ts';

/** Signs requests with the key of a CA. */
export interface Signer {
  /** When its own certificate expires. */
  readonly notAfterMs: number;
  /** Returns the certificate in PEM. Throws a CertificateRequestError if the request cannot be read. */
  sign(request: CertificateRequest, wanted: WantedCertificate, random: Random): Promise<string>;
}

export interface WantedCertificate {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** What the key may be used for, of those of a client. */
  readonly usages: readonly string[];
}

/** The usages that a client certificate may have, in the words of the API: bits of the key usage, or an extended one. */
const clientUsages = new Map<string, { readonly bit?: number; readonly extended?: string }>([
  ['digital signature', { bit: 0x80 }],
  ['key encipherment', { bit: 0x20 }],
  ['client auth', { extended: '1.3.6.1.5.5.7.3.2' }],
]);

/** Throws if the certificate is not that of a CA, or the key not that of the certificate. */
export function openSigner({ certificate, privateKey }: Credentials): Signer {
  const authority = parseCertificate(new X509Certificate(certificate).raw);
  if (!readBasicConstraints(authority).isAuthority) throw new Error('it is not the certificate of an authority');
  const key = createPrivateKey(privateKey);
  if (!createPublicKey(key).equals(authority.openSsl.publicKey))
    throw new Error('the private key does not belong to the certificate');
  if (!isUsableKey(authority.openSsl.publicKey)) throw new Error('the key is weak, or of an unsupported type');
  const algorithm = algorithmOf(key);
  const keyId = authority.extensions.get(subjectKeyIdentifier)?.value;
  return {
    notAfterMs: authority.notAfterMs,
    sign: async (request, { notBeforeMs, notAfterMs, usages }, random) => {
      const subject = encodeName(request);
      const body = encodeSequence(
        version3,
        encodeElement(tags.integer, Buffer.from(createSerialNumber(random), 'hex')),
        algorithm.identifier,
        authority.encodedSubject,
        encodeSequence(encodeTime(notBeforeMs), encodeTime(notAfterMs)),
        subject,
        request.encodedPublicKey,
        encodeElement(
          extensionsTag,
          encodeSequence(
            ...encodeUsages(usages),
            encodeExtension('2.5.29.19', true, encodeSequence()), // no authority
            ...(keyId ? [encodeExtension('2.5.29.35', false, encodeAuthorityKey(keyId))] : []),
            ...encodeAlternativeNames(request, isEmpty(subject)),
          ),
        ),
      );
      // In another thread: RSA takes milliseconds.
      const signature = await signAsync(algorithm.hash, body, key);
      const der = encodeSequence(body, algorithm.identifier, encodeBits(signature));
      return new X509Certificate(der).toString();
    },
  };
}

const signAsync = promisify(sign);

const version3 = encodeElement(0xa0, encodeElement(tags.integer, Buffer.from([2])));
/** `[3]` of the certificate's body. */
const extensionsTag = 0xa3;
const subjectKeyIdentifier = '2.5.29.14';

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): {
  /** Null for algorithms that name none. */
  readonly hash: string | null;
  readonly identifier: Buffer;
} {
  const named = (id: string, ...parameters: readonly Buffer[]): Buffer =>
    encodeSequence(encodeObjectIdentifier(id), ...parameters);
  if (type === 'rsa') return { hash: 'sha256', identifier: named('1.2.840.113549.1.1.11', encodeElement(tags.null)) };
  if (type === 'ed25519') return { hash: null, identifier: named('1.3.101.112') };
  const curve = type === 'ec' ? curves.get(details.namedCurve) : undefined;
  if (!curve) throw new Error('the key is not of RSA, of a NIST curve or of Ed25519');
  return { hash: curve.hash, identifier: named(curve.id) };
}

const curves: ReadonlyMap<string | undefined, { readonly hash: string; readonly id: string }> = new Map([
  ['prime256v1', { hash: 'sha256', id: '1.2.840.10045.4.3.2' }],
  ['secp384r1', { hash: 'sha384', id: '1.2.840.10045.4.3.3' }],
  ['secp521r1', { hash: 'sha512', id: '1.2.840.10045.4.3.4' }],
]);

/**
 * The attributes of a subject that are taken over, in the order of Go. Others are left out, as in Kubernetes: authentication
 * reads the uid of a user from one of them.
 */
const nameAttributes = ['2.5.4.6', '2.5.4.10', '2.5.4.11', '2.5.4.7', '2.5.4.8', '2.5.4.9', '2.5.4.17'];
/** Common name and serial number: only the last one counts. */
const singleAttributes = ['2.5.4.3', '2.5.4.5'];

function encodeName(request: CertificateRequest): Buffer {
  const encodeAll = (id: string, values: readonly string[]): readonly Buffer[] =>
    values.length === 0
      ? []
      : [encodeSet(...values.map((value) => encodeSequence(encodeObjectIdentifier(id), encodeText(value))))];
  return encodeSequence(
    ...nameAttributes.flatMap((id) => encodeAll(id, request.subject(id))),
    ...singleAttributes.flatMap((id) => encodeAll(id, request.subject(id).slice(-1).filter(Boolean))),
  );
}

const isEmpty = (sequence: Buffer): boolean => sequence.length === encodeSequence().length;

const encodeExtension = (id: string, isCritical: boolean, value: Buffer): Buffer =>
  encodeSequence(encodeObjectIdentifier(id), ...(isCritical ? [encodeTrue()] : []), encodeOctets(value));

function encodeUsages(usages: readonly string[]): readonly Buffer[] {
  const known = usages.flatMap((usage) => clientUsages.get(usage) ?? []);
  const bits = known.reduce((sum, { bit = 0 }) => sum + bit, 0);
  const extended = known.flatMap((usage) => usage.extended ?? []);
  // The bits end with the last one that is set.
  const unused = bits % 0x40 === 0 ? 7 : 5;
  return [
    ...(bits > 0 ? [encodeExtension('2.5.29.15', true, encodeBits(Buffer.from([bits]), unused))] : []),
    ...(extended.length > 0
      ? [encodeExtension('2.5.29.37', false, encodeSequence(...extended.map(encodeObjectIdentifier)))]
      : []),
  ];
}

/** By the number that the authority's own certificate gives its key. */
const encodeAuthorityKey = (identifier: Buffer): Buffer =>
  encodeSequence(encodeElement(0x80, requireTag(readElements(identifier)[0], tags.octetString)));

/** Host names, mail addresses, IP addresses and URIs, in the order of Go; others are left out. */
const nameTags = [0x82, 0x81, 0x87, 0x86];

function encodeAlternativeNames(request: CertificateRequest, isCritical: boolean): readonly Buffer[] {
  const names = request.alternativeNames();
  const kept = nameTags.flatMap((tag) => names.filter((name) => name.tag === tag));
  if (kept.length === 0) return [];
  const encoded = encodeSequence(...kept.map(({ tag, content }) => encodeElement(tag, content)));
  return [encodeExtension('2.5.29.17', isCritical, encoded)];
}
