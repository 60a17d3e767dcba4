import type { JWK } from 'jose';
import { mayHaveSigned, type Signed } from '../oidc/algorithms.ts';
import type { KeyFinder } from '../oidc/verified-claims.ts';

/**
 * The keys of our own tokens. One that nobody knows may have come into use at another replica a moment ago: then we look
 * again, and the token waits for a look that begins after it came. However many tokens wait, one look is under way and
 * one behind it.
 */
export function knownKeys(keys: () => readonly JWK[], lookAgain: () => Promise<void>): KeyFinder {
  const look = shared(lookAgain);
  return {
    find: async (signed: Signed) => {
      const matching = (): readonly JWK[] => keys().filter((key) => mayHaveSigned(key, signed));
      const known = matching();
      if (known.length > 0) return known;
      await look();
      return matching();
    },
  };
}

function shared(act: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let waiting: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    waiting = undefined;
    const done = act().finally(() => {
      if (running === done) running = undefined;
    });
    return (running = done);
  };
  return () => {
    if (!running) return begin();
    // What the one under way ends with is for those who wait for it.
    return (waiting ??= running.then(begin, begin));
  };
}
