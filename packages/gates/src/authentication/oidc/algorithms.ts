import { createPublicKey } from 'node:crypto';
import type { JWK } from 'jose';

/** Accepted signing algorithms with their key types. Tokens with others are rejected before a key is looked up. */
const algorithms: ReadonlyMap<string, { readonly kty: string; readonly crv?: string }> = new Map([
  ['RS256', { kty: 'RSA' }],
  ['RS384', { kty: 'RSA' }],
  ['RS512', { kty: 'RSA' }],
  ['PS256', { kty: 'RSA' }],
  ['PS384', { kty: 'RSA' }],
  ['PS512', { kty: 'RSA' }],
  ['ES256', { kty: 'EC', crv: 'P-256' }],
  ['ES384', { kty: 'EC', crv: 'P-384' }],
  ['ES512', { kty: 'EC', crv: 'P-521' }],
  ['EdDSA', { kty: 'OKP', crv: 'Ed25519' }],
]);

export const algorithmNames = [...algorithms.keys()];

/** The fields of a JWT header that select the key. */
export interface SignatureHeader {
  readonly alg: string;
  readonly kid: string | undefined;
}

export function matchesKey(key: JWK, { alg, kid }: SignatureHeader): boolean {
  const needed = algorithms.get(alg);
  return (
    needed !== undefined &&
    key.kty === needed.kty &&
    (needed.crv === undefined || key.crv === needed.crv) &&
    (key.use === undefined || key.use === 'sig') &&
    (key.alg === undefined || key.alg === alg) &&
    (kid === undefined || key.kid === kid)
  );
}

const rsaBits = { min: 2048, max: 8192 };
const rsaExponentMax = 2n ** 32n;

/**
 * Whether an RSA key can sign anything: with an exponent of 1 everybody can, and a huge key takes long to verify. Other types
 * have no such choice.
 */
export function isSoundRsa({ modulusLength = 0, publicExponent = 0n }: RsaDetails): boolean {
  const isExponentSound = publicExponent >= 3n && publicExponent % 2n === 1n && publicExponent <= rsaExponentMax;
  return isExponentSound && modulusLength >= rsaBits.min && modulusLength <= rsaBits.max;
}

interface RsaDetails {
  readonly modulusLength?: number | undefined;
  readonly publicExponent?: bigint | undefined;
}

export function isSoundKey(key: JWK): boolean {
  if (key.kty !== 'RSA') return true;
  try {
    return isSoundRsa(
      createPublicKey({ key: { kty: 'RSA', n: key.n ?? '', e: key.e ?? '' }, format: 'jwk' }).asymmetricKeyDetails ??
        {},
    );
  } catch {
    return false; // not a key
  }
}
