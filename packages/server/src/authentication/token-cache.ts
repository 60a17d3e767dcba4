import { createTokenCache, type TokenAuthenticator, type TokenAnswer } from '@cluster-apiserver/gates';
import type { ServerContext } from '../configuration/context.ts';

/** Caches what an authenticator accepts. All caches count into the same metric. */
export type CreateTokenCache = <Answer extends TokenAnswer>(
  tokens: TokenAuthenticator<Answer>,
  ttlMs: number,
) => TokenAuthenticator<Answer>;

export function createTokenCacheFactory({ environment: { clock, random }, metrics }: ServerContext): CreateTokenCache {
  const total = metrics.counter({
    name: 'authentication_token_cache_request_total',
    help: 'Number of lookups in the cache of verified tokens.',
    labels: { status: ['hit', 'miss'] },
  });
  const countLookup = (status: 'hit' | 'miss'): void => total.add({ status });
  return (tokens, ttlMs) => createTokenCache(tokens, { clock, random, ttlMs, countLookup });
}
