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

/** Who a server says it is. Clients compare the host they dialled with `hosts` and ignore the common name. */
export interface Names {
  readonly commonName: string;
  /** DNS names and IP addresses, in any order; at least one. */
  readonly hosts: readonly string[];
}

/** It signs servers' certificates and nothing that could sign further. */
export async function forAuthority(publicKey: webcrypto.CryptoKey): Promise<Extension[]> {
  return [
    new BasicConstraintsExtension(true, 0, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
    await SubjectKeyIdentifierExtension.create(publicKey),
  ];
}

export async function forServer(
  names: Names,
  publicKey: webcrypto.CryptoKey,
  issuerKey: IssuerKey,
): Promise<Extension[]> {
  return [
    ...(await leaf([ExtendedKeyUsage.serverAuth], publicKey, issuerKey)),
    new SubjectAlternativeNameExtension(names.hosts.map(generalName)),
  ];
}

/** For a client whose common name is its user, as kube-apiserver reads it. */
export async function forClient(publicKey: webcrypto.CryptoKey, issuerKey: IssuerKey): Promise<Extension[]> {
  return leaf([ExtendedKeyUsage.clientAuth], publicKey, issuerKey);
}

/** For a member of a cluster of servers: it dials the others and itself with the certificate that it serves with. */
export async function forPeer(
  names: Names,
  publicKey: webcrypto.CryptoKey,
  issuerKey: IssuerKey,
): Promise<Extension[]> {
  return [
    ...(await leaf([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth], publicKey, issuerKey)),
    new SubjectAlternativeNameExtension(names.hosts.map(generalName)),
  ];
}

async function leaf(
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

export const generalName = (host: string): JsonGeneralNames[number] => ({
  type: isIP(host) ? 'ip' : 'dns',
  value: host,
});
