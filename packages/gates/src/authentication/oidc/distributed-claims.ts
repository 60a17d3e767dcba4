import { awaitWithin, BoundedCache, type Call, type Clock, getOwn } from '@cluster-apiserver/base';
import { isJsonObject } from '@cluster-apiserver/model/json';
import { TokenRejectedError, tooManyWaitingTokens } from '../token-rejected-error.ts';
import type { FetchDocument } from './document-fetcher.ts';
import { IssuerKeys } from './issuer-keys.ts';
import { type Claims, readIssuer, type SigningIssuer, verifyClaims } from './verify-claims.ts';

export interface DistributedClaimsOptions {
  /** Uses the CA bundle and egress proxy of the issuer that names the endpoint. */
  readonly fetch: FetchDocument;
  readonly clock: Clock;
  /** Aborts fetches in flight. */
  readonly signal: AbortSignal;
  /** Called after each fetch of keys, with the error of one that failed. */
  readonly fetched: (issuer: string, error: unknown) => void;
}

/** A token of another issuer can be as large as thousands of groups. */
const tokenCharactersMax = 512 * 1024;
/** Concurrent requests to endpoints: any user of the issuer can cause one. */
const inFlightMax = 100;
/** Issuers whose keys are kept. An endpoint can name any, and most name one. */
const issuersMax = 16;

/**
 * Distributed claims of OpenID Connect Core 1.0, section 5.6.2: a token can name an endpoint that has one of its claims, for
 * users with too many groups for a token. As in kube-apiserver, only the claim for groups is resolved; the endpoint
 * answers with a token, which is verified with the keys of its own issuer and must be for the same audiences.
 */
export class DistributedClaims {
  readonly #options: DistributedClaimsOptions;
  readonly #keys = new BoundedCache<IssuerKeys>({ entriesMax: issuersMax });
  #inFlight = 0;

  constructor(options: DistributedClaimsOptions) {
    this.#options = options;
  }

  /** The claims with this one, if an endpoint has it. Throws a TokenRejectedError if it cannot be resolved. */
  async resolve<C extends Claims>(
    claims: C,
    claim: string,
    issuer: Omit<SigningIssuer, 'keys'>,
    call: Call,
  ): Promise<C> {
    const endpoint = findEndpoint(claims, claim);
    if (!endpoint) return claims;
    if (this.#inFlight >= inFlightMax) throw tooManyWaitingTokens();
    this.#inFlight++;
    try {
      const found = await this.#fetchClaims(endpoint, issuer, call);
      const value = getOwn(found, claim);
      if (value === undefined) throw new TokenRejectedError(`the endpoint of the claim ${claim} does not have it`);
      return { ...claims, [claim]: value };
    } finally {
      this.#inFlight--;
    }
  }

  async #fetchClaims({ url, accessToken }: Endpoint, issuer: Omit<SigningIssuer, 'keys'>, call: Call): Promise<Claims> {
    const { fetch, clock, signal } = this.#options;
    let token: string;
    try {
      token = (await awaitWithin(clock, call, fetch(url, signal, call.trace, accessToken))).trim();
    } catch (cause) {
      if (call.isAborted) throw cause;
      throw new TokenRejectedError('the endpoint of a claim cannot be reached', { cause });
    }
    const named = readIssuer(token, tokenCharactersMax);
    if (named === undefined || !isHttps(named))
      throw new TokenRejectedError('the endpoint of a claim does not answer with a token of an issuer with https');
    const keys = this.#keysOf(named);
    return verifyClaims(token, { ...issuer, issuer: { ...issuer.issuer, url: named }, keys }, clock, call);
  }

  #keysOf(url: string): IssuerKeys {
    const known = this.#keys.get(url);
    if (known) return known;
    const keys = new IssuerKeys({ ...this.#options, address: { url, discoveryUrl: undefined } });
    this.#keys.set(url, keys);
    return keys;
  }
}

interface Endpoint {
  readonly url: string;
  readonly accessToken: string | undefined;
}

/** Undefined if the token has the claim itself, or nothing says where it is. */
function findEndpoint(claims: Claims, claim: string): Endpoint | undefined {
  const names = getOwn(claims, '_claim_names');
  if (getOwn(claims, claim) !== undefined || names === undefined) return undefined;
  if (!isJsonObject(names)) throw new TokenRejectedError('_claim_names is no object');
  const sources = getOwn(claims, '_claim_sources');
  if (!isJsonObject(sources)) throw new TokenRejectedError('_claim_sources is no object');
  const name = getOwn(names, claim);
  if (name === undefined) return undefined;
  const source = typeof name === 'string' ? getOwn(sources, name) : undefined;
  if (!isJsonObject(source)) throw new TokenRejectedError(`_claim_sources lacks the source of the claim ${claim}`);
  const { endpoint, access_token: accessToken } = source;
  // An aggregated claim has a token instead, which kube-apiserver ignores, too.
  if (endpoint === undefined || endpoint === '') return undefined;
  if (typeof endpoint !== 'string' || !isHttps(endpoint))
    throw new TokenRejectedError(`the endpoint of the claim ${claim} is no URL with https`);
  return {
    url: endpoint,
    accessToken: typeof accessToken === 'string' && accessToken !== '' ? accessToken : undefined,
  };
}

const isHttps = (url: string): boolean => URL.parse(url)?.protocol === 'https:';
