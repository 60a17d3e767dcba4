import { X509Certificate as OpenSslCertificate } from 'node:crypto';
import { readCertificateBlocks } from '@cluster-apiserver/base';
import {
  type Certificate,
  isUsableKey,
  mayUseKeyToSign,
  parseCertificate,
  readBasicConstraints,
  readExtendedKeyUsages,
} from './certificate.ts';

/**
 * Verifies a client certificate chain against the current CAs. TLS verifies only at the handshake, but a connection can
 * outlive its certificate, and a CA can be removed while it is open.
 *
 * Anybody can send any chain, so the work for one is bounded. Names decide which certificates can be part of a path to the
 * leaf; signatures are checked from the trusted CA downwards. So each check uses a key that is trusted already, and a forged
 * chain ends at the first one.
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

/** Reads a PEM bundle. Throws if it is empty or contains an invalid or incomplete certificate. */
export function readAuthorities(pem: string): Authorities {
  const blocks = readCertificateBlocks(pem);
  if (!blocks)
    throw new Error(
      pem.includes('-----BEGIN CERTIFICATE-----')
        ? 'one of its certificates is not complete'
        : 'there is no certificate in it',
    );
  return { certificates: blocks.map((block) => parseCertificate(new OpenSslCertificate(block).raw)) };
}

export const sharesAuthority = (one: Authorities, other: Authorities): boolean =>
  one.certificates.some(({ der }) => other.certificates.some((certificate) => certificate.der.equals(der)));

/** Longer chains only cost time. */
const chainLengthMax = 10;
/** Enough for the longest chain. Cross-signed CAs allow exponentially many paths. */
const signatureChecksMax = chainLengthMax;

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
    const { leaf, intermediates, signatures } = openChain(chain);
    requireValid(leaf, nowMs);
    if (!isUsableKey(leaf.openSsl.publicKey)) throw new UntrustedCertificateError('its key is weak or of another type');
    const candidates = selectIssuers(leaf, intermediates);
    const path = findPath({
      leaf,
      candidates,
      trusted: certificates,
      signatures,
      nowMs,
      checksLeft: signatureChecksMax,
    });
    if (!path) throw new UntrustedCertificateError('no authority that is trusted vouches for it');
    return {
      subject: (part) => leaf.subject(attributes.get(part) ?? part),
      fingerprint: leaf.openSsl.fingerprint256.replaceAll(':', '').toLowerCase(),
      validUntilMs: Math.min(...path.map(({ notAfterMs }) => notAfterMs)),
    };
  } catch (cause) {
    if (cause instanceof UntrustedCertificateError) throw cause;
    // Clients control the bytes, and parsers throw many kinds of errors.
    throw new UntrustedCertificateError('it cannot be read', { cause });
  }
}

const attributes: ReadonlyMap<string, string> = new Map([
  ['CN', '2.5.4.3'],
  ['O', '2.5.4.10'],
  ['OU', '2.5.4.11'],
]);

interface Chain {
  readonly leaf: Certificate;
  readonly intermediates: readonly Certificate[];
  /** Whether an issuer has signed a certificate, as far as that was checked. */
  readonly signatures: Map<Certificate, Map<Certificate, boolean>>;
}

/**
 * The chain that was verified last, with its signatures: a request verifies one chain against the CAs of clients and those of
 * front proxies. No more are kept, because a parsed chain needs more memory than its connection.
 */
let latest: { readonly encoded: readonly Buffer[]; readonly chain: Chain } | undefined;

function openChain(encoded: readonly Buffer[]): Chain {
  if (latest?.encoded === encoded) return latest.chain;
  if (encoded.length > chainLengthMax) throw new UntrustedCertificateError('the chain is too long');
  const [leaf, ...intermediates] = encoded.map(parseCertificate);
  if (!leaf) throw new UntrustedCertificateError('there is no certificate');
  const chain = { leaf, intermediates, signatures: new Map() };
  latest = { encoded, chain };
  return chain;
}

/** The certificates from which names lead to the leaf. */
function selectIssuers(leaf: Certificate, intermediates: readonly Certificate[]): ReadonlySet<Certificate> {
  const selected = new Set<Certificate>();
  const subjects = [leaf];
  for (const subject of subjects) {
    for (const issuer of intermediates) {
      if (selected.has(issuer) || !isNamedIssuer(issuer, subject)) continue;
      selected.add(issuer);
      subjects.push(issuer);
    }
  }
  return selected;
}

const isNamedIssuer = (issuer: Certificate, subject: Certificate): boolean =>
  subject.openSsl.checkIssued(issuer.openSsl);

interface Search extends Pick<Chain, 'leaf' | 'signatures'> {
  readonly candidates: ReadonlySet<Certificate>;
  readonly trusted: readonly Certificate[];
  readonly nowMs: number;
  checksLeft: number;
}

/** Finds a path from a trusted certificate to the leaf, both included. */
function findPath(search: Search): readonly Certificate[] | undefined {
  const { leaf, trusted } = search;
  if (trusted.some(({ der }) => der.equals(leaf.der))) return [leaf];
  for (const authority of trusted) {
    const path = descend(authority, [], Number.POSITIVE_INFINITY, search);
    if (path) return path;
  }
  return undefined;
}

/**
 * Continues a path with a certificate whose signature is verified, down to the leaf. `authoritiesMax` is the number of CAs that
 * the path allows from here.
 */
function descend(
  issuer: Certificate,
  above: readonly Certificate[],
  authoritiesMax: number,
  search: Search,
): readonly Certificate[] | undefined {
  if (authoritiesMax < 1 || !canSign(issuer, search.nowMs)) return undefined;
  const path = [...above, issuer];
  if (isIssued(search.leaf, issuer, search)) return [...path, search.leaf];
  const left = Math.min(authoritiesMax - 1, readBasicConstraints(issuer).pathLength ?? authoritiesMax);
  for (const next of search.candidates) {
    if (path.includes(next) || left < 1 || !isIssued(next, issuer, search)) continue;
    const whole = descend(next, path, left, search);
    if (whole) return whole;
  }
  return undefined;
}

/** Whether the issuer has signed the certificate. Each pair is checked once. */
function isIssued(subject: Certificate, issuer: Certificate, search: Search): boolean {
  if (!isNamedIssuer(issuer, subject)) return false;
  let known = search.signatures.get(issuer);
  if (!known) search.signatures.set(issuer, (known = new Map()));
  let isSigned = known.get(subject);
  if (isSigned !== undefined) return isSigned;
  if (search.checksLeft-- <= 0) return false;
  known.set(subject, (isSigned = isSignedBy(issuer, subject)));
  return isSigned;
}

/** RSA, RSA-PSS and ECDSA with SHA-2, and EdDSA. Older hash algorithms are not collision-resistant. */
const signatureAlgorithms: ReadonlySet<string> = new Set([
  ...['1.2.840.113549.1.1.11', '1.2.840.113549.1.1.12', '1.2.840.113549.1.1.13'],
  ...['2.16.840.1.101.3.4.2.1', '2.16.840.1.101.3.4.2.2', '2.16.840.1.101.3.4.2.3'],
  ...['1.2.840.10045.4.3.2', '1.2.840.10045.4.3.3', '1.2.840.10045.4.3.4'],
  ...['1.3.101.112', '1.3.101.113'],
]);

function isSignedBy(issuer: Certificate, { openSsl, signatureAlgorithm }: Certificate): boolean {
  const { publicKey } = issuer.openSsl;
  return signatureAlgorithms.has(signatureAlgorithm) && isUsableKey(publicKey) && openSsl.verify(publicKey);
}

function canSign(issuer: Certificate, nowMs: number): boolean {
  try {
    requireValid(issuer, nowMs);
    return readBasicConstraints(issuer).isAuthority && mayUseKeyToSign(issuer) !== false;
  } catch {
    return false; // there may be another path
  }
}

/** Extended key usages that allow client authentication. */
const clientUsages: readonly string[] = ['1.3.6.1.5.5.7.3.2', '2.5.29.37.0'];

/**
 * Checks each certificate of a path. Name constraints are not supported, so a CA that has them is not trusted.
 */
function requireValid(certificate: Certificate, nowMs: number): void {
  const { notBeforeMs, notAfterMs, extensions } = certificate;
  if (!(nowMs >= notBeforeMs)) throw new UntrustedCertificateError('it is not valid yet');
  if (!(nowMs <= notAfterMs)) throw new UntrustedCertificateError('it has expired');
  for (const [type, { isCritical }] of extensions) {
    if (type === nameConstraints || (isCritical && !understood.has(type)))
      throw new UntrustedCertificateError(`it depends on the extension ${type}, which is not understood`);
  }
  const usages = readExtendedKeyUsages(certificate);
  if (usages && !usages.some((usage) => clientUsages.includes(usage)))
    throw new UntrustedCertificateError('it is not for clients');
}

const nameConstraints = '2.5.29.30';
/** Subject and authority key, key usage, alternative names, basic constraints, policies, extended key usage. */
const understood = new Set(['2.5.29.14', '2.5.29.15', '2.5.29.17', '2.5.29.19', '2.5.29.32', '2.5.29.35', '2.5.29.37']);
