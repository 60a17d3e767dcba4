import type { Call, Clock } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';
import { compactVerify, decodeProtectedHeader, type JWK } from 'jose';
import { algorithmNames, type SignatureHeader } from './algorithms.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';

export type Claims = JsonObject;

/** Claims with an expiration. */
export type ExpiringClaims = Claims & { readonly exp: number };

/** Tolerates issuer clocks that run ahead. There is no leeway for the expiration. */
const notBeforeLeewaySeconds = 60;

/** Finds the keys that may have signed a token. */
export interface KeyFinder {
  find(signed: SignatureHeader, call: Call): Promise<readonly JWK[]>;
  /** Called if none of those verifies the signature: looks for newer keys. */
  findNewer(signed: SignatureHeader, call: Call): Promise<readonly JWK[]>;
}

/** An issuer, its audiences and its keys. */
export interface SigningIssuer<Issuer = { readonly url: string; readonly audiences: readonly string[] }> {
  readonly issuer: Issuer;
  /** Accepted signing algorithms; all supported ones by default. */
  readonly algorithms?: readonly string[] | undefined;
  readonly keys: KeyFinder;
}

/** Longer tokens do not fit into a header. */
const tokenLengthMax = 64 * 1024;

/** The unverified issuer of a token. Use it only to choose the keys to verify with. */
export function readIssuer(token: string, charactersMax: number = tokenLengthMax): string | undefined {
  const [, payload = '', ...others] = token.split('.', 4);
  if (others.length !== 1 || token.length > charactersMax) return undefined;
  const issuer = parseClaims(Buffer.from(payload, 'base64url'))?.iss;
  return typeof issuer === 'string' ? issuer : undefined;
}

/** Verifies signature, issuer, audience and times of a token, and returns its claims. */
export async function verifyClaims(
  token: string,
  signing: SigningIssuer,
  clock: Clock,
  call: Call,
): Promise<ExpiringClaims> {
  const claims = await verifyIssuer(token, signing, call);
  checkAudience(claims.aud, signing.issuer.audiences);
  checkTimes(claims, clock.now() / 1000);
  return claims;
}

/** Verifies signature and issuer alone. */
export async function verifyIssuer(
  token: string,
  { issuer: { url }, algorithms = algorithmNames, keys }: SigningIssuer<{ readonly url: string }>,
  call: Call,
): Promise<Claims> {
  const signed = readSignatureHeader(token, algorithms);
  const payload =
    (await verifySignature(token, await keys.find(signed, call))) ??
    (await verifySignature(token, await keys.findNewer(signed, call)));
  if (!payload) throw new TokenRejectedError('no key of the issuer has signed the token');
  const claims = parseClaims(payload);
  if (!claims || claims.iss !== url) throw new TokenRejectedError('the token is of another issuer');
  return claims;
}

function readSignatureHeader(token: string, algorithms: readonly string[]): SignatureHeader {
  try {
    const { alg, kid } = decodeProtectedHeader(token);
    if (typeof alg === 'string' && algorithms.includes(alg)) {
      if (kid === undefined || typeof kid === 'string') return { alg, kid };
      throw new TokenRejectedError('the kid of the token is no text');
    }
  } catch (error) {
    if (error instanceof TokenRejectedError) throw error;
    throw new TokenRejectedError('the token has no readable header');
  }
  throw new TokenRejectedError('the token is not signed with an algorithm that is allowed');
}

async function verifySignature(token: string, candidates: readonly JWK[]): Promise<Uint8Array | undefined> {
  if (!isCanonical(token)) return undefined;
  for (const key of candidates) {
    try {
      const { payload } = await compactVerify(token, key, { algorithms: algorithmNames });
      return payload;
    } catch {
      // The signature is of another key, or this key is unusable: try the next one.
    }
  }
  return undefined;
}

/** Rejects unused bits at the end of the signature: they would allow many spellings of one token. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

function parseClaims(payload: Uint8Array): Claims | undefined {
  try {
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    return isJsonObject(claims) ? claims : undefined;
  } catch {
    return undefined; // not a JSON object
  }
}

function checkAudience(claimed: unknown, audiences: readonly string[]): void {
  const meant: readonly unknown[] = Array.isArray(claimed) ? claimed : [claimed];
  if (!audiences.some((audience) => meant.includes(audience)))
    throw new TokenRejectedError('the token is for other audiences');
}

function checkTimes(claims: Claims, nowSeconds: number): asserts claims is ExpiringClaims {
  const { exp, nbf, iat } = claims;
  if (!isTime(exp)) throw new TokenRejectedError('the token does not say when it ends');
  if (exp <= nowSeconds) throw new TokenRejectedError('the token is expired');
  if (nbf !== undefined && !(isTime(nbf) && nbf <= nowSeconds + notBeforeLeewaySeconds))
    throw new TokenRejectedError('the token does not hold yet');
  if (iat !== undefined && !isTime(iat)) throw new TokenRejectedError('the token does not say when it was made');
}

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
