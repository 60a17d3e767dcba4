import { hash } from 'node:crypto';
import {
  awaitWithin,
  bytesOfText,
  bytesOfValue,
  callUntil,
  type Clock,
  ExpiringCache,
  type Random,
} from '@cluster-apiserver/base';
import type { Metrics } from '@cluster-apiserver/telemetry';
import type { TokenAnswer, TokenAuthenticator } from './token-authenticator.ts';

/**
 * Caches what an authenticator accepts for this time: a revoked token is accepted for at most so long. All caches count into
 * the same metric.
 */
export type CreateTokenCache = <Answer extends TokenAnswer>(
  inner: TokenAuthenticator<Answer>,
  ttlMs: number,
) => TokenAuthenticator<Answer>;

export function createTokenCaches(clock: Clock, random: Random, metrics: Metrics): CreateTokenCache {
  const lookups = metrics.counter({
    name: 'authentication_token_cache_request_total',
    help: 'Number of lookups in the cache of verified tokens.',
    labels: { status: ['hit', 'miss'] },
  });
  const measures = { hit: lookups.series({ status: 'hit' }), miss: lookups.series({ status: 'miss' }) };
  return (inner, ttlMs) => createTokenCache(inner, { clock, random, ttlMs, measures });
}

interface TokenCacheOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly ttlMs: number;
  readonly measures: Readonly<Record<'hit' | 'miss', () => void>>;
}

/** About a kilobyte each, but issuers and webhooks decide how many groups a user has. */
const answersMax = 4096;
const bytesMax = 32 * 1024 * 1024;
/** Timeout of a lookup that is shared by several requests: longer than the default request timeout. */
const lookupMsMax = 60_000;

/**
 * Caches the users of tokens, never beyond the expiration of a token. Only successes are cached: a rejected token may be
 * valid a moment later, and made-up tokens would evict the others. Concurrent requests with one token share a lookup.
 */
function createTokenCache<Answer extends TokenAnswer>(
  inner: TokenAuthenticator<Answer>,
  options: TokenCacheOptions,
): TokenAuthenticator<Answer> {
  const { clock, random, ttlMs, measures } = options;
  const keyOf = createKeyedHash(random);
  const answers = new ExpiringCache<Answer>(clock, {
    entriesMax: answersMax,
    bytesMax,
    bytesOf: (key, answer) => bytesOfText(key) + bytesOfValue(answer),
  });
  const inFlight = new Map<string, Promise<Answer | undefined>>();

  const findCached = (key: string): Answer | undefined => {
    const found = answers.get(key);
    if (!found) return undefined;
    const { expiresAtMs } = found;
    return expiresAtMs === undefined || clock.now() < expiresAtMs ? found : undefined;
  };
  const cacheAnswer = (key: string, answer: Answer | undefined): Answer | undefined => {
    if (answer) answers.set(key, answer, ttlMs);
    return answer;
  };
  return {
    authenticateToken: (token, call, audiences) => {
      const key = keyOf(token, audiences);
      const known = findCached(key);
      const shared = known ? undefined : inFlight.get(key);
      measures[known || shared ? 'hit' : 'miss']();
      if (known) return known;
      if (shared) return awaitWithin(clock, call, shared);
      // Other requests may join, so the lookup does not end with the first one.
      const answer = inner.authenticateToken(
        token,
        callUntil(clock.monotonicMs() + lookupMsMax, call.trace),
        audiences,
      );
      if (!(answer instanceof Promise)) return cacheAnswer(key, answer);
      const waiting = answer.then((found) => cacheAnswer(key, found)).finally(() => inFlight.delete(key));
      inFlight.set(key, waiting);
      return awaitWithin(clock, call, waiting);
    },
  };
}

/**
 * Hashes tokens with a secret, so that a memory dump of the keys does not allow guessing. A plain hash instead of HMAC is
 * enough: length extension requires seeing a key, and keys never leave the process.
 */
function createKeyedHash(random: Random): (token: string, audiences?: readonly string[]) => string {
  const secret = random.bytes(48).toString('base64'); // 64 letters are one block of SHA-256
  // The letter distinguishes the two forms, and JSON delimits the parts.
  return (token, audiences) =>
    hash('sha256', secret + (audiences ? `a${JSON.stringify([token, ...audiences])}` : `t${token}`), 'base64');
}
