import { X509Certificate } from 'node:crypto';
import { decodePemBlock, pemBlocks } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { decodeBase64 } from '@cluster-apiserver/model/schema';

/** Certificates in PEM, and nothing else but text between them. */
export function validateCertificates(base64: string, problems: Problems): void {
  const problem = base64 && findProblem((decodeBase64(base64) ?? Buffer.alloc(0)).toString('latin1'));
  if (problem) problems.invalid('<certificate data>', problem);
}

function findProblem(pem: string): string | undefined {
  const blocks = pemBlocks(pem);
  for (const block of blocks) {
    const { label } = block;
    if (label !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found "${label}"`;
    const decoded = decodePemBlock(block);
    if (decoded?.hasHeaders) return 'no PEM block headers are permitted';
    if (decoded?.bytes.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
    if (!decoded || !isCertificate(decoded.bytes)) return 'x509: malformed certificate';
  }
  return blocks.length === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

function isCertificate(der: Buffer): boolean {
  try {
    return new X509Certificate(der).raw.length === der.length;
  } catch {
    return false;
  }
}
