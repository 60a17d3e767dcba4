import { pemBlocks, readCertificateBlocks } from '@cluster-apiserver/base';
import type { Path } from '@cluster-apiserver/model';
import type { Findings } from './findings.ts';
import { createPrivateKey, X509Certificate } from 'node:crypto';

/** Whether a PEM text contains at least one certificate and all of them are valid. */
export const holdsCertificates = (pem: string): boolean => readCertificateBlocks(pem)?.every(isCertificate) ?? false;

/** The complete certificates of a PEM bundle. */
export const splitCertificates = (pem: string): readonly string[] =>
  pemBlocks(pem).flatMap(({ label, text }) => (label === 'CERTIFICATE' ? text : []));

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false; // the message of OpenSSL does not help to repair the file
  }
}

/** Whether a private key belongs to a certificate, both in PEM. */
function isKeyPair(certificate: Buffer, key: Buffer): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // the message of OpenSSL could reveal a part of the key
  }
}

/** Adds the certificates of a PEM text at a path, or the problem that it holds none. */
export function addAuthorities(findings: Findings, path: Path, pem: Buffer | undefined, name: string): void {
  if (!pem) return;
  if (holdsCertificates(pem.toString())) findings.addCertificates(path, pem.toString());
  else findings.add(path, `${name} holds no certificates in PEM`);
}

/** The same for a client certificate with its key. `pair` is the place of both. */
export function addKeyPair(findings: Findings, path: Path, certificate: Buffer, key: Buffer, pair: Path = path): void {
  if (isKeyPair(certificate, key)) findings.addCertificates(path, certificate.toString());
  else findings.add(pair, 'the client certificate and its key do not belong together, or are not in PEM');
}
