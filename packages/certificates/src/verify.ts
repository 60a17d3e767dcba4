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
 * Whether a chain that somebody showed leads to an authority that is trusted now. TLS asks this once, at the handshake,
 * and of the authorities of that moment; a connection lasts longer than a certificate may, and than an authority does.
 */

/** Certificates of authorities. Two of them are the same trust only if they are the same object. */
export interface Authorities {
  readonly certificates: readonly Certificate[];
}

/** What has been verified: a certificate by its subject, and until when its chain holds. */
export interface Verified {
  /** The values of a part of the subject, by its name or number, in their order. */
  subject(part: string): readonly string[];
  /** SHA-256 of the whole certificate, in hex. */
  readonly fingerprint: string;
  readonly validUntilMs: number;
}

/** Why a chain is not believed. The message names no subject: whoever shows it may write there what he likes. */
export class UntrustedCertificateError extends Error {
  override readonly name = 'UntrustedCertificateError';
}

interface Certificate {
  readonly der: Buffer;
  /** Who signs and who was signed is asked of OpenSSL, what stands in it is read by a parser. */
  readonly openSsl: OpenSslCertificate;
  readonly parsed: X509Certificate;
}

/** Reads PEM with at least one certificate; throws at whatever is none. */
export function readAuthorities(pem: string): Authorities {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error('there is no certificate in it');
  return { certificates: blocks.map((block) => read(new OpenSslCertificate(block).raw)) };
}

export const sharesAuthority = (one: Authorities, other: Authorities): boolean =>
  one.certificates.some(({ der }) => other.certificates.some((certificate) => certificate.der.equals(der)));

/** Longer chains are made to cost time. */
const chainLengthMax = 10;
/** Authorities that have all signed each other lead along more ways than there is time for. */
const signatureChecksMax = 100;

/**
 * Verifies a client's certificate, the first of the chain. The others may be of use on the way to an authority, or not;
 * nothing is believed because of them. Throws an UntrustedCertificateError.
 */
export function verifyClient(chain: readonly Buffer[], { certificates }: Authorities, nowMs: number): Verified {
  try {
    if (chain.length > chainLengthMax) throw new UntrustedCertificateError('the chain is too long');
    const [leaf, ...intermediates] = chain.map(read);
    if (!leaf) throw new UntrustedCertificateError('there is no certificate');
    requireUsable(leaf, nowMs);
    const path = pathTo(leaf, { trusted: certificates, intermediates, nowMs, checksLeft: signatureChecksMax }, []);
    if (!path) throw new UntrustedCertificateError('no authority that is trusted vouches for it');
    return {
      subject: (part) => leaf.parsed.subjectName.getField(part),
      fingerprint: leaf.openSsl.fingerprint256.replaceAll(':', '').toLowerCase(),
      validUntilMs: Math.min(...path.map(({ parsed }) => parsed.notAfter.getTime())),
    };
  } catch (cause) {
    if (cause instanceof UntrustedCertificateError) throw cause;
    // The bytes are whatever the client likes, and parsers say in many ways that they are nothing.
    throw new UntrustedCertificateError('it cannot be read', { cause });
  }
}

const read = (der: Buffer): Certificate => ({
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

/** From a certificate to one that is trusted, both included. `below` are those that led here. */
function pathTo(from: Certificate, search: Search, below: readonly Certificate[]): readonly Certificate[] | undefined {
  const path = [...below, from];
  if (search.trusted.some(({ der }) => der.equals(from.der))) return path;
  if (path.length > chainLengthMax) return undefined;
  for (const issuer of [...search.trusted, ...search.intermediates]) {
    // Those above the first one sign certificates: the first of the path is no authority.
    if (path.includes(issuer) || !maySign(issuer, path.length - 1, search.nowMs)) continue;
    if (!from.openSsl.checkIssued(issuer.openSsl) || search.checksLeft-- <= 0 || !hasSigned(issuer, from)) continue;
    const whole = pathTo(issuer, search, path);
    if (whole) return whole;
  }
  return undefined;
}

/** With older ones, two documents can be made that have the same hash. */
const soundHashes = ['SHA-256', 'SHA-384', 'SHA-512'];
/** They choose their hash themselves. */
const edwards = ['Ed25519', 'Ed448'];
/** Less can be taken apart. */
const rsaBitsMin = 1024;

function hasSigned(issuer: Certificate, { parsed, openSsl }: Certificate): boolean {
  const { publicKey } = issuer.openSsl;
  const { name, hash } = parsed.signatureAlgorithm as {
    readonly name: string;
    readonly hash?: { readonly name: string };
  };
  if (!soundHashes.includes(hash?.name ?? '') && !edwards.includes(name)) return false;
  return (publicKey.asymmetricKeyDetails?.modulusLength ?? rsaBitsMin) >= rsaBitsMin && openSsl.verify(publicKey);
}

/** Whether it is an authority, for a path with so many other authorities below it. */
function maySign(issuer: Certificate, authoritiesBelow: number, nowMs: number): boolean {
  try {
    requireUsable(issuer, nowMs);
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

/** For clients, and for anything. */
const clientUsages: readonly string[] = [ExtendedKeyUsage.clientAuth, '2.5.29.37.0'];

/**
 * What has to hold for each certificate of a path. Constraints on names are not understood here, and an authority that
 * has some is therefore not believed: it may not vouch for everybody, and we could not tell for whom.
 */
function requireUsable({ parsed }: Certificate, nowMs: number): void {
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
