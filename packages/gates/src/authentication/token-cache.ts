import { hash } from 'node:crypto';
import { callUntil, type Clock, type Random, withinCall } from '@cluster-apiserver/base';
import type { TokenAnswer, TokenAuthenticator } from './token-authenticator.ts';

export interface TokenCacheOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** How long an answer counts. Whatever makes a token invalid before its end is noticed this much later. */
  readonly ttlMs: number;
  readonly countLookup: (status: 'hit' | 'miss') => void;
}

/** About a kilobyte each. When more tokens are in use than this, the oldest answers are asked for again. */
const answersMax = 4096;
/** What a look-up takes that nobody waits for any more: longer than every request, by default, has. */
const lookupMsMax = 60_000;

/**
 * Remembers whose a token is, for a while and never beyond its end. Only successes are remembered: a refused token may
 * be good a moment later, and made-up ones would push the others out. Those who come with the same token while it is
 * looked at wait for the same answer.
 */
export function createTokenCache<Answer extends TokenAnswer>(
  inner: TokenAuthenticator<Answer>,
  options: TokenCacheOptions,
): TokenAuthenticator<Answer> {
  const { clock, random, ttlMs, countLookup } = options;
  const keyOf = createKeyedHash(random);
  /** In the order of their ends, because all last equally long. */
  const answers = new Map<string, { readonly answer: Answer; readonly untilMs: number }>();
  const inFlight = new Map<string, Promise<Answer | undefined>>();

  const findCached = (key: string): Answer | undefined => {
    const found = answers.get(key);
    if (!found || clock.monotonicMs() >= found.untilMs) return undefined;
    const { expiresAtMs } = found.answer;
    return expiresAtMs === undefined || clock.now() < expiresAtMs ? found.answer : undefined;
  };
  const cacheAnswer = (key: string, answer: Answer | undefined): Answer | undefined => {
    if (!answer) return undefined;
    answers.delete(key); // so that it goes to the end
    const [oldest] = answers.keys();
    if (oldest !== undefined && answers.size >= answersMax) answers.delete(oldest);
    answers.set(key, { answer, untilMs: clock.monotonicMs() + ttlMs });
    return answer;
  };
  return {
    authenticateToken: (token, call, audiences) => {
      const key = keyOf(token, audiences);
      const known = findCached(key);
      const shared = known ? undefined : inFlight.get(key);
      countLookup(known || shared ? 'hit' : 'miss');
      if (known) return known;
      if (shared) return withinCall(clock, call, shared);
      // Others may come to wait for the same answer, so it is not looked for on behalf of the first alone.
      const answer = inner.authenticateToken(
        token,
        callUntil(clock.monotonicMs() + lookupMsMax, call.trace),
        audiences,
      );
      if (!(answer instanceof Promise)) return cacheAnswer(key, answer);
      const waiting = answer.then((found) => cacheAnswer(key, found)).finally(() => inFlight.delete(key));
      inFlight.set(key, waiting);
      return withinCall(clock, call, waiting);
    },
  };
}

/**
 * Keys that tell nothing of a token without a secret that nobody else ever sees. HMAC would hash twice, so that nobody
 * can lengthen what was hashed; for that one has to see a key, and these never leave the process.
 */
function createKeyedHash(random: Random): (token: string, audiences?: readonly string[]) => string {
  const secret = random.bytes(48).toString('base64'); // 64 letters are one block of SHA-256
  // The letter keeps the two forms apart, and JSON tells where one part ends and the next begins.
  return (token, audiences) =>
    hash('sha256', secret + (audiences ? `a${JSON.stringify([token, ...audiences])}` : `t${token}`), 'base64');
}
