import type { Call, Clock } from '@cluster-apiserver/base';
import { compactVerify, decodeProtectedHeader, type JWK } from 'jose';
import { algorithmNames, type SignatureHeader } from './algorithms.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';

export type Claims = Readonly<Record<string, unknown>>;

/** Claims that say until when they hold. */
export type ExpiringClaims = Claims & { readonly exp: number };

/** Clocks of issuers run ahead of ours; for the end of a token nobody needs such kindness. */
const notBeforeLeewaySeconds = 60;

/** Where the keys are that may have signed a token. */
export interface KeyFinder {
  find(signed: SignatureHeader, call: Call): Promise<readonly JWK[]>;
  /** Asked when none of those has signed it: what there is now, if that may be something else. */
  findNewer(signed: SignatureHeader, call: Call): Promise<readonly JWK[]>;
}

/** Whose signature counts, and for whom. */
export interface SigningIssuer {
  readonly issuer: { readonly url: string; readonly audiences: readonly string[] };
  /** What it may sign with; anything that is safe if nothing is said. */
  readonly algorithms?: readonly string[] | undefined;
  readonly keys: KeyFinder;
}

/** Longer ones do not fit into a header, and reading them would be for nothing. */
const tokenLengthMax = 64 * 1024;

/** Who a token says that it is of. Unverified, and only good for finding whom to ask. */
export function readIssuer(token: string): string | undefined {
  const parts = token.split('.', 4);
  if (parts.length !== 3 || token.length > tokenLengthMax) return undefined;
  const issuer = parseClaims(Buffer.from(parts[1] as string, 'base64url'))?.iss;
  return typeof issuer === 'string' ? issuer : undefined;
}

/** The claims of a token that the issuer has signed, for one of the audiences, and that holds now. */
export async function verifyClaims(
  token: string,
  { issuer: { url, audiences }, algorithms = algorithmNames, keys }: SigningIssuer,
  clock: Clock,
  call: Call,
): Promise<ExpiringClaims> {
  const signed = readSignatureHeader(token, algorithms);
  const payload =
    (await verifySignature(token, await keys.find(signed, call))) ??
    (await verifySignature(token, await keys.findNewer(signed, call)));
  if (!payload) throw new TokenRejectedError('no key of the issuer has signed the token');
  const claims = parseClaims(payload);
  if (!claims || claims.iss !== url) throw new TokenRejectedError('the token is of another issuer');
  checkAudience(claims.aud, audiences);
  checkTimes(claims, clock.now() / 1000);
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
      // Not this key's signature, or a key that cannot verify anything: another may.
    }
  }
  return undefined;
}

/** Bits that mean nothing at the end of the signature would make many tokens of one. */
function isCanonical(token: string): boolean {
  const signature = token.slice(token.lastIndexOf('.') + 1);
  return Buffer.from(signature, 'base64url').toString('base64url') === signature;
}

function parseClaims(payload: Uint8Array): Claims | undefined {
  try {
    const claims: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(payload));
    return typeof claims === 'object' && claims !== null && !Array.isArray(claims) ? (claims as Claims) : undefined;
  } catch {
    return undefined; // it is no object of claims, and why not is of no use to anybody
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
