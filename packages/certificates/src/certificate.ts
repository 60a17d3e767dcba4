import { type KeyObject, X509Certificate as OpenSslCertificate } from 'node:crypto';
import { type Element, encodedOf, readElements, readObjectIdentifier, readText, requireTag, tags } from './der.ts';

/** A certificate as far as verification requires it. OpenSSL verifies signatures; the other fields are read here. */
export interface Certificate {
  readonly der: Buffer;
  readonly openSsl: OpenSslCertificate;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Object identifier; of RSA-PSS the one of the hash. */
  readonly signatureAlgorithm: string;
  readonly extensions: ReadonlyMap<string, CertificateExtension>;
  /** The subject as it stands in the certificate. */
  readonly encodedSubject: Buffer;
  /** The values of a subject attribute by its object identifier, in order. Throws if one is no text. */
  subject(attribute: string): readonly string[];
}

export interface CertificateExtension {
  readonly isCritical: boolean;
  readonly value: Buffer;
}

/** Throws for malformed bytes. The time is linear in the size. */
export function parseCertificate(der: Buffer): Certificate {
  const openSsl = new OpenSslCertificate(der);
  const [whole] = readElements(der);
  const [body, algorithm] = readElements(requireTag(whole, tags.sequence));
  const fields = readElements(requireTag(body, tags.sequence));
  // The version is optional.
  const serialNumberAt = fields[0]?.tag === tags.integer ? 0 : 1;
  const name = fields[serialNumberAt + 4];
  const subject = requireTag(name, tags.sequence);
  return {
    der,
    openSsl,
    notBeforeMs: openSsl.validFromDate.getTime(),
    notAfterMs: openSsl.validToDate.getTime(),
    signatureAlgorithm: readAlgorithm(algorithm),
    extensions: readExtensions(
      readElements(fields.find(({ tag }) => tag === extensionsTag)?.content ?? Buffer.alloc(0))[0],
    ),
    encodedSubject: name ? encodedOf(name) : Buffer.alloc(0),
    subject: (attribute) => readSubject(subject, attribute),
  };
}

function readAlgorithm(algorithm: Element | undefined): string {
  const [type, parameters] = readElements(requireTag(algorithm, tags.sequence));
  const id = readObjectIdentifier(requireTag(type, tags.objectIdentifier));
  if (id !== rsaPss) return id;
  // Without this parameter the hash is SHA-1.
  const hash = readElements(requireTag(parameters, tags.sequence)).find(({ tag }) => tag === hashTag);
  return hash ? readAlgorithm(readElements(hash.content)[0]) : id;
}

const rsaPss = '1.2.840.113549.1.1.10';
/** `[0]` of the parameters of RSA-PSS. */
const hashTag = 0xa0;

/** `[3]` of the certificate's body. */
const extensionsTag = 0xa3;

export function readExtensions(list: Element | undefined): Map<string, CertificateExtension> {
  const extensions = new Map<string, CertificateExtension>();
  if (!list) return extensions;
  for (const extension of readElements(requireTag(list, tags.sequence))) {
    const [type, ...others] = readElements(requireTag(extension, tags.sequence));
    const id = readObjectIdentifier(requireTag(type, tags.objectIdentifier));
    // Readers could disagree on which one counts.
    if (extensions.has(id)) throw new TypeError('an extension occurs twice');
    const isCritical = others[0]?.tag === tags.boolean && others[0].content[0] !== 0;
    extensions.set(id, { isCritical, value: requireTag(others.at(-1), tags.octetString) });
  }
  return extensions;
}

/** The values of an attribute of a distinguished name. */
export function readSubject(subject: Buffer, attribute: string): string[] {
  const values: string[] = [];
  for (const set of readElements(subject)) {
    for (const pair of readElements(requireTag(set, tags.set))) {
      const [type, value] = readElements(requireTag(pair, tags.sequence));
      if (value && readObjectIdentifier(requireTag(type, tags.objectIdentifier)) === attribute)
        values.push(readText(value));
    }
  }
  return values;
}

export interface BasicConstraints {
  readonly isAuthority: boolean;
  /** Maximum number of CAs below this one; undefined for no limit. */
  readonly pathLength: number | undefined;
}

export function readBasicConstraints({ extensions }: Certificate): BasicConstraints {
  const extension = extensions.get('2.5.29.19');
  const [first, second] = extension ? readElements(requireTag(readElements(extension.value)[0], tags.sequence)) : [];
  const isAuthority = first?.tag === tags.boolean && first.content[0] !== 0;
  const length = first?.tag === tags.boolean ? second : first;
  return { isAuthority, pathLength: length && readSmallInteger(requireTag(length, tags.integer)) };
}

/** A larger number is as good as none, and a negative one as zero. */
function readSmallInteger(content: Buffer): number {
  if (content.length === 0 || content.readInt8(0) < 0) return 0;
  return content.length > 6 ? Number.MAX_SAFE_INTEGER : content.readUIntBE(0, content.length);
}

/** Whether the certificate may sign others; undefined if it does not say. */
export function mayUseKeyToSign({ extensions }: Certificate): boolean | undefined {
  const extension = extensions.get('2.5.29.15');
  if (!extension) return undefined;
  // The first byte is the number of unused bits, and the bits count from the left.
  const bits = requireTag(readElements(extension.value)[0], tags.bitString);
  return ((bits[1] ?? 0) & keyCertSign) !== 0;
}

const keyCertSign = 0x04;

/** Object identifiers; undefined if the certificate may be used for everything. */
export function readExtendedKeyUsages({ extensions }: Certificate): readonly string[] | undefined {
  const extension = extensions.get('2.5.29.37');
  if (!extension) return undefined;
  const usages = readElements(requireTag(readElements(extension.value)[0], tags.sequence));
  return usages.map((usage) => readObjectIdentifier(requireTag(usage, tags.objectIdentifier)));
}

/** Smaller RSA keys can be factored, and larger ones take milliseconds for one signature. */
const rsaBits = { min: 1024, max: 8192 };
const rsaExponentMax = 2n ** 32n;
/** Others take much longer for a signature. */
const curves: ReadonlySet<string | undefined> = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
const keyTypes: ReadonlySet<string | undefined> = new Set(['ed25519', 'ed448']);

/** Whether signatures of a key can be trusted, and checked in about a millisecond. */
export function isUsableKey({ asymmetricKeyType: type, asymmetricKeyDetails: details = {} }: KeyObject): boolean {
  if (type === 'ec') return curves.has(details.namedCurve);
  if (type !== 'rsa' && type !== 'rsa-pss') return keyTypes.has(type);
  const { modulusLength = 0, publicExponent = 0n } = details;
  const isExponentUsable = publicExponent >= 3n && publicExponent % 2n === 1n && publicExponent <= rsaExponentMax;
  return modulusLength >= rsaBits.min && modulusLength <= rsaBits.max && isExponentUsable;
}
