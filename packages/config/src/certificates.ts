import { X509Certificate } from 'node:crypto';

/** Whether a text in PEM holds at least one certificate, and each of them can be read. */
export function holdsCertificates(pem: string): boolean {
  const certificates = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return certificates.length > 0 && certificates.every(isCertificate);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false; // OpenSSL's reasons help nobody who has to mend a file
  }
}
