import { createPrivateKey, createPublicKey, webcrypto, X509Certificate } from 'node:crypto';

/** A certificate and its private key, both as PEM. */
export interface Credentials {
  readonly certificate: string;
  readonly privateKey: string;
}

/** P-256: all TLS clients support it, and a handshake costs the server a twentieth of RSA 2048. */
const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export function generateKeyPair(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

export async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key));
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    .export({ format: 'pem', type: 'pkcs8' })
    .toString();
}

/** Generates a private key in PEM, for other signatures than certificates. */
export const generatePrivateKey = async (): Promise<string> => exportKey((await generateKeyPair()).privateKey);

/** Imports the private key. Throws if it does not belong to the certificate. */
export async function importKey({ certificate, privateKey }: Credentials): Promise<webcrypto.CryptoKey> {
  const key = createPrivateKey(privateKey);
  if (!createPublicKey(key).equals(new X509Certificate(certificate).publicKey)) {
    throw new Error('the private key does not belong to the certificate');
  }
  return webcrypto.subtle.importKey('pkcs8', key.export({ format: 'der', type: 'pkcs8' }), algorithm, false, ['sign']);
}
