import { type Call, type Clock, sleep, type Span, awaitWithin } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';
import type { JWK } from 'jose';
import { isSoundKey, matchesKey, type SignatureHeader } from './algorithms.ts';
import { parseAnswer } from '../../https/parse-answer.ts';
import type { FetchDocument } from './document-fetcher.ts';
import type { KeyFinder } from './verify-claims.ts';
import { TokenRejectedError, tooManyWaitingTokens } from '../token-rejected-error.ts';

/** Minimum interval between fetches, however many tokens with unknown keys arrive. */
const coolDownMs = 10_000;
/** Older keys are refreshed in the background by the next request that uses them. */
const freshMs = 600_000;
/** Older keys are refreshed before use: no request has used them for that long. */
const usableMs = 1_200_000;
/** Time to use stale keys while the issuer is unreachable. A key withdrawn meanwhile is trusted for as long. */
const staleIfErrorMs = 7 * 86_400_000;
/** Maximum number of tokens that wait for a fetch. They cost little, but any client can send them. */
const waitingMax = 1_000;
/** Bounds the work for a token without `kid`, which is verified with each key. */
const keysMax = 50;

export interface IssuerAddress {
  readonly url: string;
  readonly discoveryUrl: string | undefined;
}

export interface IssuerKeysOptions {
  readonly address: IssuerAddress;
  /** Uses the CA bundle and egress proxy of this issuer. */
  readonly fetch: FetchDocument;
  readonly clock: Clock;
  /** Aborts fetches in flight. */
  readonly signal: AbortSignal;
  /** Called after each fetch, at most once per ten seconds, with the error of one that failed. */
  readonly fetched: (issuer: string, error: unknown) => void;
}

/**
 * The keys of one issuer. Known keys are used without a fetch while they are fresh, and while the issuer is unreachable. An
 * unknown key triggers a fetch, at most one per ten seconds, and the token waits for it: so a new key is never rejected, and
 * a flood of made-up keys causes few fetches. All waiting requests share one fetch, which continues if one of them ends.
 */
export class IssuerKeys implements KeyFinder {
  readonly #address: IssuerAddress;
  readonly #fetch: FetchDocument;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #fetched: IssuerKeysOptions['fetched'];
  #keys: readonly JWK[] = [];
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #refresh: { readonly done: Promise<void>; begun: boolean } | undefined;
  #waiting = 0;

  constructor({ address, fetch, clock, signal, fetched }: IssuerKeysOptions) {
    this.#address = address;
    this.#fetch = fetch;
    this.#clock = clock;
    this.#signal = signal;
    this.#fetched = fetched;
  }

  /** The keys that match the header; empty if the issuer has none. */
  async find(signed: SignatureHeader, call: Call): Promise<readonly JWK[]> {
    if (this.#findMatching(signed).length > 0) await this.#requireUsable(call);
    const known = this.#findMatching(signed);
    if (known.length > 0) return known;
    // A fetch in flight may have started before the key existed.
    const missed = this.#refresh?.begun;
    await this.#wait(call);
    if (missed && this.#findMatching(signed).length === 0) await this.#wait(call);
    return this.#findMatching(signed);
  }

  /** Fetches again, unless that happened just now: the same keys would fail again. */
  async findNewer(signed: SignatureHeader, call: Call): Promise<readonly JWK[]> {
    if (!this.#refresh && !this.#mayFetch()) return [];
    await this.#wait(call);
    return this.#findMatching(signed);
  }

  /** Refreshes keys that are too old. */
  async #requireUsable(call: Call): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const ageMs = nowMs - this.#fetchedAt;
    if (ageMs <= freshMs) return;
    const hasFailedRecently = this.#failure !== undefined && nowMs - this.#attemptedAt <= usableMs;
    if (ageMs <= usableMs || (ageMs <= staleIfErrorMs && hasFailedRecently)) {
      // In the background; if the refresh fails, the next request tries again.
      if (this.#mayFetch()) void this.#refreshKeys(undefined).catch(() => {});
      return;
    }
    try {
      await this.#wait(call);
    } catch (error) {
      if (!(error instanceof TokenRejectedError) || ageMs > staleIfErrorMs) throw error;
    }
  }

  #findMatching(signed: SignatureHeader): readonly JWK[] {
    return this.#keys.filter((key) => matchesKey(key, signed));
  }

  async #wait(call: Call): Promise<void> {
    if (this.#waiting >= waitingMax) throw tooManyWaitingTokens();
    // Do not wait for an unreachable issuer: that would delay every request.
    if (!this.#refresh && this.#failure !== undefined && !this.#mayFetch())
      throw new TokenRejectedError('the keys of the issuer cannot be fetched', {
        cause: this.#failure,
        isUnchecked: true,
      });
    this.#waiting++;
    const refreshed = this.#refreshKeys(call.trace).catch((cause: unknown) => {
      throw new TokenRejectedError('the keys of the issuer cannot be fetched', { cause, isUnchecked: true });
    });
    try {
      await awaitWithin(this.#clock, call, refreshed);
    } finally {
      this.#waiting--;
    }
  }

  #mayFetch(): boolean {
    return this.#clock.monotonicMs() - this.#attemptedAt >= coolDownMs;
  }

  /** A fetch appears in the trace of the request that started it. */
  #refreshKeys(trace: Span | undefined): Promise<void> {
    if (this.#refresh) return this.#refresh.done;
    const refresh = { begun: false, done: Promise.resolve() };
    const fetchWhenCool = async (): Promise<void> => {
      try {
        const pauseMs = this.#attemptedAt + coolDownMs - this.#clock.monotonicMs();
        if (pauseMs > 0) await sleep(this.#clock, pauseMs, this.#signal);
        refresh.begun = true;
        this.#attemptedAt = this.#clock.monotonicMs();
        this.#keys = await fetchKeys(this.#address, async (url) =>
          parseObject(await this.#fetch(url, this.#signal, trace), url, this.#clock),
        );
        this.#fetchedAt = this.#clock.monotonicMs();
        this.#failure = undefined;
        this.#fetched(this.#address.url, undefined);
      } catch (error) {
        this.#failure = error;
        // Counted from the end: a fetch may have hung for longer than the interval.
        this.#attemptedAt = this.#clock.monotonicMs();
        if (!this.#signal.aborted) this.#fetched(this.#address.url, error);
        throw error;
      } finally {
        this.#refresh = undefined;
      }
    };
    this.#refresh = refresh;
    return (refresh.done = fetchWhenCool());
  }
}

async function fetchKeys(
  { url, discoveryUrl }: IssuerAddress,
  get: (url: string) => Promise<JsonObject>,
): Promise<readonly JWK[]> {
  const place = discoveryUrl ?? `${url.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const discovered = await get(place);
  // Otherwise tokens of one issuer could be verified with keys of another.
  if (discovered.issuer !== url) throw new Error(`${place} speaks for another issuer than ${url}`);
  const { jwks_uri: keysUrl } = discovered;
  if (typeof keysUrl !== 'string' || URL.parse(keysUrl)?.protocol !== 'https:')
    throw new Error(`${place} names no jwks_uri with https`);
  const { keys } = await get(keysUrl);
  if (!Array.isArray(keys)) throw new Error(`${keysUrl} holds no list of keys`);
  const usable = keys.filter(isKey);
  if (usable.length > keysMax) throw new Error(`${keysUrl} holds more than ${keysMax} keys`);
  return usable.filter(isSoundKey);
}

async function parseObject(text: string, place: string, clock: Clock): Promise<JsonObject> {
  const value = await parseAnswer(text, clock);
  if (!isJsonObject(value)) throw new Error(`${place} does not answer with an object`);
  return value;
}

/** Drops other entries, such as private keys or unknown formats. */
const isKey = (value: unknown): value is JWK =>
  typeof value === 'object' && value !== null && 'kty' in value && typeof value.kty === 'string' && !('d' in value);
