import { createSecureContext } from 'node:tls';

/** A certificate chain and its key, both as PEM. */
export interface ServingCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Throws if the certificate or key is invalid or they do not match, as between the two writes of a rotation. */
export function checkCertificate({ cert, key }: ServingCertificate): void {
  createSecureContext({ cert, key });
}

/** Cipher suites with forward secrecy and authenticated encryption; the first three are those of TLS 1.3. */
export const cipherSuites = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');
