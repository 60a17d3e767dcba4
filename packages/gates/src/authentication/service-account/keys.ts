import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { type PemBlock, pemBlocks } from '@cluster-apiserver/base';
import { exportJWK, type JWK } from 'jose';
import { isSoundRsa } from '../oidc/algorithms.ts';

/** The signing key of service account tokens, and all keys that verify them. */
export interface ServiceAccountKeys {
  readonly signing: SigningKey;
  /** The public key of the signing key first; without duplicates. */
  readonly verifying: readonly PublicKey[];
}

export interface SigningKey {
  readonly alg: Algorithm;
  readonly kid: string;
  readonly key: KeyObject;
}

/** The published form of a key. Only its `alg` is accepted with it. */
export type PublicKey = JWK & { readonly use: 'sig'; readonly alg: Algorithm; readonly kid: string };

type Algorithm = 'RS256' | 'ES256' | 'ES384' | 'ES512';

/** A key that cannot be used. The message never contains content of its file. */
export class UnusableKeyError extends Error {
  override readonly name = 'UnusableKeyError';
}

/** The first private key of a PEM file. */
export function parseSigningKey(pem: string): SigningKey {
  const block = splitPem(pem).find(({ label }) => label.endsWith('PRIVATE KEY'));
  if (!block) throw new UnusableKeyError('there is no private key in it');
  const key = readKey(() => createPrivateKey(block.text));
  return { key, kid: getKeyId(key), alg: algorithmOf(key) };
}

/** The public keys of a PEM file, also those of private keys. */
export async function parseVerifyingKeys(pem: string): Promise<readonly PublicKey[]> {
  const blocks = splitPem(pem);
  if (blocks.length === 0) throw new UnusableKeyError('there is no key in it');
  return Promise.all(blocks.map(({ text }) => toPublicKey(readKey(() => createPublicKey(text)))));
}

export async function createServiceAccountKeys(
  signing: SigningKey,
  others: readonly PublicKey[],
): Promise<ServiceAccountKeys> {
  const all = [await toPublicKey(createPublicKey(signing.key)), ...others];
  return { signing, verifying: [...new Map(all.map((key) => [key.kid, key])).values()] };
}

async function toPublicKey(key: KeyObject): Promise<PublicKey> {
  const alg = algorithmOf(key);
  return { ...(await exportJWK(key)), use: 'sig', alg, kid: getKeyId(key) };
}

/** Derived from the key alone, so that all replicas, and kube-apiserver, use the same ID. */
const getKeyId = (key: KeyObject): string =>
  createHash('sha256')
    .update((key.type === 'public' ? key : createPublicKey(key)).export({ type: 'spki', format: 'der' }))
    .digest('base64url');

const curves: Readonly<Record<string, Algorithm>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' };

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails: details }: KeyObject): Algorithm {
  const curve = curves[details?.namedCurve ?? ''];
  if (asymmetricKeyType === 'ec' && curve) return curve;
  if (asymmetricKeyType === 'rsa' && isSoundRsa(details ?? {})) return 'RS256';
  throw new UnusableKeyError(
    'it must be RSA with at least 2048 bits, at most 8192 and an odd exponent from 3 to 2^32, or EC on P-256, P-384 or P-521',
  );
}

/** Some tools write EC PARAMETERS before the key, which contains them again. */
const splitPem = (pem: string): readonly PemBlock[] => pemBlocks(pem).filter(({ label }) => label !== 'EC PARAMETERS');

function readKey(read: () => KeyObject): KeyObject {
  try {
    return read();
  } catch (cause) {
    throw new UnusableKeyError('a key in it cannot be read; it may not be encrypted', { cause });
  }
}
