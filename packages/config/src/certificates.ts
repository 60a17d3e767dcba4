import { pemBlocks, readCertificateBlocks } from '@cluster-apiserver/base';
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
export function isKeyPair(certificate: Buffer, key: Buffer): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // the message of OpenSSL could reveal a part of the key
  }
}
