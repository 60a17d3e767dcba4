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
