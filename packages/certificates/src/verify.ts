import { X509Certificate as OpenSslCertificate } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  X509Certificate,
} from './x509.ts';

/**
 * Verifies a client certificate chain against the current CAs. TLS verifies only at the handshake, but a connection can
 * outlive its certificate, and a CA can be removed while it is open.
 */

/** CA certificates. Caches compare them by identity: a reload creates a new object. */
export interface Authorities {
  readonly certificates: readonly Certificate[];
}

/** The verified leaf certificate, and the end of the validity of its chain. */
export interface VerifiedCertificate {
  /** The values of a subject attribute, by name or OID, in order. */
  subject(part: string): readonly string[];
  /** SHA-256 of the whole certificate, in hex. */
  readonly fingerprint: string;
  readonly validUntilMs: number;
}

/** Why a chain is not trusted. The message contains no subject: clients can write anything into it. */
export class UntrustedCertificateError extends Error {
  override readonly name = 'UntrustedCertificateError';
}

interface Certificate {
  readonly der: Buffer;
  /** OpenSSL verifies signatures; a parser reads the fields. */
  readonly openSsl: OpenSslCertificate;
  readonly parsed: X509Certificate;
}

/** Reads a PEM bundle. Throws if it is empty or contains an invalid certificate. */
export function readAuthorities(pem: string): Authorities {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error('there is no certificate in it');
  return { certificates: blocks.map((block) => parseCertificate(new OpenSslCertificate(block).raw)) };
}

export const sharesAuthority = (one: Authorities, other: Authorities): boolean =>
  one.certificates.some(({ der }) => other.certificates.some((certificate) => certificate.der.equals(der)));

/** Longer chains only cost time. */
const chainLengthMax = 10;
/** Bounds the search: cross-signed CAs allow exponentially many paths. */
const signatureChecksMax = 100;

/**
 * Verifies the first certificate of the chain. The others are candidates for intermediates and are not trusted by themselves.
 * Throws an UntrustedCertificateError.
 */
export function verifyClient(
  chain: readonly Buffer[],
  { certificates }: Authorities,
  nowMs: number,
): VerifiedCertificate {
  try {
    if (chain.length > chainLengthMax) throw new UntrustedCertificateError('the chain is too long');
    const [leaf, ...intermediates] = chain.map(parseCertificate);
    if (!leaf) throw new UntrustedCertificateError('there is no certificate');
    requireValid(leaf, nowMs);
    const path = findPath(leaf, { trusted: certificates, intermediates, nowMs, checksLeft: signatureChecksMax }, []);
    if (!path) throw new UntrustedCertificateError('no authority that is trusted vouches for it');
    return {
      subject: (part) => leaf.parsed.subjectName.getField(part),
      fingerprint: leaf.openSsl.fingerprint256.replaceAll(':', '').toLowerCase(),
      validUntilMs: Math.min(...path.map(({ parsed }) => parsed.notAfter.getTime())),
    };
  } catch (cause) {
    if (cause instanceof UntrustedCertificateError) throw cause;
    // Clients control the bytes, and parsers throw many kinds of errors.
    throw new UntrustedCertificateError('it cannot be read', { cause });
  }
}

const parseCertificate = (der: Buffer): Certificate => ({
  der,
  openSsl: new OpenSslCertificate(der),
  parsed: new X509Certificate(der),
});

interface Search {
  readonly trusted: readonly Certificate[];
  readonly intermediates: readonly Certificate[];
  readonly nowMs: number;
  checksLeft: number;
}

/** Finds a path from a certificate to a trusted one, both included. `below` is the path so far. */
function findPath(
  from: Certificate,
  search: Search,
  below: readonly Certificate[],
): readonly Certificate[] | undefined {
  const path = [...below, from];
  if (search.trusted.some(({ der }) => der.equals(from.der))) return path;
  if (path.length > chainLengthMax) return undefined;
  for (const issuer of [...search.trusted, ...search.intermediates]) {
    // All but the first certificate of the path must be CAs.
    if (path.includes(issuer) || !canSign(issuer, path.length - 1, search.nowMs)) continue;
    if (!from.openSsl.checkIssued(issuer.openSsl) || search.checksLeft-- <= 0 || !isSignedBy(issuer, from)) continue;
    const whole = findPath(issuer, search, path);
    if (whole) return whole;
  }
  return undefined;
}

/** Older hash algorithms are not collision-resistant. */
const soundHashes = ['SHA-256', 'SHA-384', 'SHA-512'];
/** These algorithms imply their hash. */
const edwards = ['Ed25519', 'Ed448'];
/** Smaller RSA keys can be factored. */
const rsaBitsMin = 1024;

function isSignedBy(issuer: Certificate, { parsed, openSsl }: Certificate): boolean {
  const { publicKey } = issuer.openSsl;
  const { name, hash } = parsed.signatureAlgorithm;
  if (!soundHashes.includes(hash?.name ?? '') && !edwards.includes(name)) return false;
  return (publicKey.asymmetricKeyDetails?.modulusLength ?? rsaBitsMin) >= rsaBitsMin && openSsl.verify(publicKey);
}

/** Whether the certificate is a CA whose path length allows this number of CAs below it. */
function canSign(issuer: Certificate, authoritiesBelow: number, nowMs: number): boolean {
  try {
    requireValid(issuer, nowMs);
  } catch {
    return false; // there may be another way
  }
  const constraints = issuer.parsed.getExtension(BasicConstraintsExtension);
  const usages = issuer.parsed.getExtension(KeyUsagesExtension);
  return (
    constraints?.ca === true &&
    (constraints.pathLength ?? authoritiesBelow) >= authoritiesBelow &&
    (!usages || (usages.usages & KeyUsageFlags.keyCertSign) !== 0)
  );
}

/** Extended key usages that allow client authentication. */
const clientUsages: readonly string[] = [ExtendedKeyUsage.clientAuth, '2.5.29.37.0'];

/**
 * Checks each certificate of a path. Name constraints are not supported, so a CA that has them is not trusted.
 */
function requireValid({ parsed }: Certificate, nowMs: number): void {
  if (nowMs < parsed.notBefore.getTime()) throw new UntrustedCertificateError('it is not valid yet');
  if (nowMs > parsed.notAfter.getTime()) throw new UntrustedCertificateError('it has expired');
  for (const { type, critical } of parsed.extensions) {
    if (type === nameConstraints || (critical && !understood.has(type)))
      throw new UntrustedCertificateError(`it depends on the extension ${type}, which is not understood`);
  }
  const usages = parsed.getExtension(ExtendedKeyUsageExtension)?.usages;
  if (usages && !usages.some((usage) => clientUsages.includes(String(usage))))
    throw new UntrustedCertificateError('it is not for clients');
}

const nameConstraints = '2.5.29.30';
/** Subject and authority key, key usage, alternative names, basic constraints, policies, extended key usage. */
const understood = new Set(['2.5.29.14', '2.5.29.15', '2.5.29.17', '2.5.29.19', '2.5.29.32', '2.5.29.35', '2.5.29.37']);
