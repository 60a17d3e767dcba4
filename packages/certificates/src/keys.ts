import { generateKeyPair as generate, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';

/** A certificate and its private key, both as PEM. */
export interface Credentials {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** P-256: all TLS clients support it, and a handshake costs the server a twentieth of RSA 2048. */
export const generateKeyPair = (): Promise<KeyPair> => promisify(generate)('ec', { namedCurve: 'P-256' });

export const exportKey = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }).toString();

/** Generates a private key in PEM, for other signatures than certificates. */
export const generatePrivateKey = async (): Promise<string> => exportKey((await generateKeyPair()).privateKey);

export const encodePublicKey = (key: KeyObject): Buffer => key.export({ format: 'der', type: 'spki' });
