import { type Call, type Clock, sleep, type Span, withinCall } from '@cluster-apiserver/base';
import type { JWK } from 'jose';
import { matchesKey, type SignatureHeader } from './algorithms.ts';
import type { FetchDocument } from './document-fetcher.ts';
import type { KeyFinder } from './verify-claims.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';

/** However many tokens come with keys that nobody knows: the issuer is asked this often and no more. */
const coolDownMs = 10_000;
/** Older keys are fetched again beside the request that uses them. */
const freshMs = 600_000;
/** Older keys are not used before they have been fetched again: nobody has used them for that long. */
const usableMs = 1_200_000;
/** How long keys stay in use while the issuer cannot be reached. A key that it withdraws meanwhile is trusted as long. */
const staleIfErrorMs = 7 * 86_400_000;
/** Tokens that wait for the next fetch. They cost little, but anybody can send them. */
const waitingMax = 1_000;
/** A token without `kid` is tried against each. */
const keysMax = 50;

export interface IssuerAddress {
  readonly url: string;
  readonly discoveryUrl: string | undefined;
}

export interface IssuerKeysOptions {
  readonly address: IssuerAddress;
  /** By the certificates and the way that are configured for this issuer. */
  readonly fetch: FetchDocument;
  readonly clock: Clock;
  /** Ends what still waits for the issuer. */
  readonly signal: AbortSignal;
  /** It was asked in vain, at most once in ten seconds. */
  readonly failed: (error: unknown) => void;
}

/**
 * The keys of one issuer. Known keys are used without a fetch as long as they are fresh, and while the issuer is down or
 * slow, so that it delays nobody. An unknown key leads to a fetch: at once, or when the last one is long enough ago, and
 * the token waits for it. A key that has just come into use is thereby never refused, and a flood of made-up ones is one
 * fetch in ten seconds. All who wait share one fetch, which goes on when one of them leaves.
 */
export class IssuerKeys implements KeyFinder {
  readonly #address: IssuerAddress;
  readonly #fetch: FetchDocument;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #failed: (error: unknown) => void;
  #keys: readonly JWK[] = [];
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #attemptedAt = Number.NEGATIVE_INFINITY;
  #failure: unknown;
  #refresh: { readonly done: Promise<void>; begun: boolean } | undefined;
  #waiting = 0;

  constructor({ address, fetch, clock, signal, failed }: IssuerKeysOptions) {
    this.#address = address;
    this.#fetch = fetch;
    this.#clock = clock;
    this.#signal = signal;
    this.#failed = failed;
  }

  /** The keys that may have signed this; none when the issuer has no such key. */
  async find(signed: SignatureHeader, call: Call): Promise<readonly JWK[]> {
    if (this.#findMatching(signed).length > 0) await this.#requireUsable(call);
    const known = this.#findMatching(signed);
    if (known.length > 0) return known;
    // A fetch that is under way may have begun before the key was there.
    const missed = this.#refresh?.begun;
    await this.#wait(call);
    if (missed && this.#findMatching(signed).length === 0) await this.#wait(call);
    return this.#findMatching(signed);
  }

  /** A fetch unless there was one just now: then what did not verify will not do so with the same keys. */
  async findNewer(signed: SignatureHeader, call: Call): Promise<readonly JWK[]> {
    if (!this.#refresh && !this.#mayFetch()) return [];
    await this.#wait(call);
    return this.#findMatching(signed);
  }

  /** Sees to it that the keys are young enough to be used. */
  async #requireUsable(call: Call): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const ageMs = nowMs - this.#fetchedAt;
    if (ageMs <= freshMs) return;
    const hasFailedRecently = this.#failure !== undefined && nowMs - this.#attemptedAt <= usableMs;
    if (ageMs <= usableMs || (ageMs <= staleIfErrorMs && hasFailedRecently)) {
      // Beside the request and not before it; what fails is tried again by the next one.
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
    if (this.#waiting >= waitingMax) throw new TokenRejectedError('too many tokens wait for keys that are not known');
    // While it does not answer, to wait for it would hold up everybody who comes.
    if (!this.#refresh && this.#failure !== undefined && !this.#mayFetch())
      throw new TokenRejectedError('the keys of the issuer cannot be fetched', { cause: this.#failure });
    this.#waiting++;
    const refreshed = this.#refreshKeys(call.trace).catch((cause: unknown) => {
      throw new TokenRejectedError('the keys of the issuer cannot be fetched', { cause });
    });
    try {
      await withinCall(this.#clock, call, refreshed);
    } finally {
      this.#waiting--;
    }
  }

  #mayFetch(): boolean {
    return this.#clock.monotonicMs() - this.#attemptedAt >= coolDownMs;
  }

  /** It may show in the trace of who began it. */
  #refreshKeys(trace: Span | undefined): Promise<void> {
    if (this.#refresh) return this.#refresh.done;
    const refresh = { begun: false, done: Promise.resolve() };
    const fetchWhenCool = async (): Promise<void> => {
      try {
        const pauseMs = this.#attemptedAt + coolDownMs - this.#clock.monotonicMs();
        if (pauseMs > 0) await sleep(this.#clock, pauseMs, this.#signal);
        refresh.begun = true;
        this.#attemptedAt = this.#clock.monotonicMs();
        this.#keys = await fetchKeys(this.#address, (url) => this.#fetch(url, this.#signal, trace));
        this.#fetchedAt = this.#clock.monotonicMs();
        this.#failure = undefined;
      } catch (error) {
        this.#failure = error;
        if (!this.#signal.aborted) this.#failed(error);
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
  get: (url: string) => Promise<string>,
): Promise<readonly JWK[]> {
  const place = discoveryUrl ?? `${url.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const discovered = parseObject(await get(place), place);
  // Otherwise whoever answers here could have tokens of one issuer verified with keys of another.
  if (discovered.issuer !== url) throw new Error(`${place} speaks for another issuer than ${url}`);
  const { jwks_uri: keysUrl } = discovered;
  if (typeof keysUrl !== 'string' || URL.parse(keysUrl)?.protocol !== 'https:')
    throw new Error(`${place} names no jwks_uri with https`);
  const { keys } = parseObject(await get(keysUrl), keysUrl);
  if (!Array.isArray(keys)) throw new Error(`${keysUrl} holds no list of keys`);
  const usable = keys.filter(isKey);
  if (usable.length > keysMax) throw new Error(`${keysUrl} holds more than ${keysMax} keys`);
  return usable;
}

function parseObject(text: string, place: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new Error(`${place} does not answer with an object`);
  return value as Readonly<Record<string, unknown>>;
}

/** What else stands in the list, such as keys for encryption or of kinds to come, is none of ours. */
const isKey = (value: unknown): value is JWK =>
  typeof value === 'object' && value !== null && 'kty' in value && typeof value.kty === 'string' && !('d' in value);
