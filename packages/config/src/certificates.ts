import { createPrivateKey, X509Certificate } from 'node:crypto';

/** Whether a PEM text contains at least one certificate and all of them are valid; the last one may be half-written. */
export function holdsCertificates(pem: string): boolean {
  const certificates = splitCertificates(pem);
  const begun = pem.match(/-----BEGIN CERTIFICATE-----/g)?.length;
  return certificates.length > 0 && certificates.length === begun && certificates.every(isCertificate);
}

/** Splits a PEM bundle into its certificates. */
export const splitCertificates = (pem: string): readonly string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];

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
