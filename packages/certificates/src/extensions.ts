import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralNames,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
} from './x509.ts';
import type { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';

/** Names in a server certificate. Clients compare the requested host with `hosts` and ignore the common name. */
export interface CertificateNames {
  readonly commonName: string;
  /** DNS names and IP addresses, in any order; at least one. */
  readonly hosts: readonly string[];
}

/** Path length 0: the CA signs leaf certificates only. */
export async function createAuthorityExtensions(publicKey: webcrypto.CryptoKey): Promise<Extension[]> {
  return [
    new BasicConstraintsExtension(true, 0, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    await SubjectKeyIdentifierExtension.create(publicKey),
  ];
}

export async function createServerExtensions(
  names: CertificateNames,
  publicKey: webcrypto.CryptoKey,
  issuerKey: IssuerKey,
): Promise<Extension[]> {
  return [
    ...(await createLeafExtensions([ExtendedKeyUsage.serverAuth], publicKey, issuerKey)),
    new SubjectAlternativeNameExtension(names.hosts.map(toGeneralName)),
  ];
}

/** For a client certificate, whose common name is the user name. */
export async function createClientExtensions(
  publicKey: webcrypto.CryptoKey,
  issuerKey: IssuerKey,
): Promise<Extension[]> {
  return createLeafExtensions([ExtendedKeyUsage.clientAuth], publicKey, issuerKey);
}

/** For a member of a cluster: one certificate for both server and client authentication. */
export async function createPeerExtensions(
  names: CertificateNames,
  publicKey: webcrypto.CryptoKey,
  issuerKey: IssuerKey,
): Promise<Extension[]> {
  return [
    ...(await createLeafExtensions([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth], publicKey, issuerKey)),
    new SubjectAlternativeNameExtension(names.hosts.map(toGeneralName)),
  ];
}

async function createLeafExtensions(
  usages: readonly ExtendedKeyUsage[],
  publicKey: webcrypto.CryptoKey,
  issuerKey: IssuerKey,
): Promise<Extension[]> {
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([...usages]),
    await SubjectKeyIdentifierExtension.create(publicKey),
    await AuthorityKeyIdentifierExtension.create(issuerKey),
  ];
}

type IssuerKey = Parameters<typeof SubjectKeyIdentifierExtension.create>[0];

export const toGeneralName = (host: string): JsonGeneralNames[number] => ({
  type: isIP(host) ? 'ip' : 'dns',
  value: host,
});
