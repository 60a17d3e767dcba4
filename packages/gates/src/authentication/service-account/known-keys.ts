import { type Call, type Clock, sleep, awaitWithin } from '@cluster-apiserver/base';
import type { JWK } from 'jose';
import { mayHaveSigned, type Signed } from '../oidc/algorithms.ts';
import type { KeyFinder } from '../oidc/verified-claims.ts';
import { TokenRejectedError } from '../token-rejected.ts';

export interface KnownKeysOptions {
  readonly keys: () => readonly JWK[];
  /** Reads them anew from where they are kept. */
  readonly lookAgain: () => Promise<void>;
  readonly clock: Clock;
}

/** However many tokens name keys that nobody knows: their files are read this often and no more. */
const coolDownMs = 1_000;
/** Tokens that wait for the next look. They cost little, but anybody can send them. */
const waitingMax = 1_000;

/**
 * The keys of our own tokens. One that nobody knows may have come into use at another replica a moment ago: then we look
 * again, and the token waits for a look that begins after it came. All who wait share one look, and one look follows
 * another after a cool-down.
 */
export function knownKeys({ keys, lookAgain, clock }: KnownKeysOptions): KeyFinder {
  const matching = (signed: Signed): readonly JWK[] => keys().filter((key) => mayHaveSigned(key, signed));
  const looks = pacedLooks(lookAgain, clock);
  let waiting = 0;
  return {
    find: async (signed, call: Call) => {
      const known = matching(signed);
      if (known.length > 0) return known;
      if (waiting >= waitingMax) throw new TokenRejectedError('too many tokens wait for keys that are not known');
      waiting++;
      try {
        await awaitWithin(clock, call, looks.next());
      } finally {
        waiting--;
      }
      return matching(signed);
    },
    findNewer: async (signed, call: Call) => {
      if (signed.kid !== undefined || !looks.isDue()) return []; // Our keys are named by what they are.
      await awaitWithin(clock, call, looks.next());
      return matching(signed);
    },
  };
}

interface PacedLooks {
  /** Whether a look would begin at once. */
  isDue(): boolean;
  /** Resolves after a look that has not begun yet. */
  next(): Promise<void>;
}

function pacedLooks(look: () => Promise<void>, clock: Clock): PacedLooks {
  let beganAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const begin = async (): Promise<void> => {
    await running.catch(() => {}); // What it ended with is for those who waited for it.
    const pauseMs = beganAtMs + coolDownMs - clock.monotonicMs();
    if (pauseMs > 0) await sleep(clock, pauseMs);
    beganAtMs = clock.monotonicMs();
    next = undefined;
    await (running = look());
  };
  return {
    isDue: () => next === undefined && clock.monotonicMs() - beganAtMs >= coolDownMs,
    next: () => (next ??= begin()),
  };
}
