import { createPrivateKey, X509Certificate } from 'node:crypto';

/** Whether a text in PEM holds at least one certificate, and each of them can be read. */
export function holdsCertificates(pem: string): boolean {
  const certificates = certificatesIn(pem);
  return certificates.length > 0 && certificates.every(isCertificate);
}

/** Each of them, in PEM. */
export const certificatesIn = (pem: string): readonly string[] =>
  pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false; // OpenSSL's reasons help nobody who has to mend a file
  }
}

/** Whether a private key is that of a certificate, both in PEM. */
export function areTogether(certificate: Buffer, key: Buffer): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false; // OpenSSL's reasons could show a piece of the key
  }
}
