import { type Call, type Clock, sleep, withinCall } from '@cluster-apiserver/base';
import type { JWK } from 'jose';
import { matchesKey, type SignatureHeader } from '../oidc/algorithms.ts';
import type { KeyFinder } from '../oidc/verify-claims.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';

export interface KeyFinderOptions {
  readonly keys: () => readonly JWK[];
  /** Reads them anew from where they are kept. */
  readonly reload: () => Promise<void>;
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
export function createKeyFinder({ keys, reload, clock }: KeyFinderOptions): KeyFinder {
  const findMatching = (signed: SignatureHeader): readonly JWK[] => keys().filter((key) => matchesKey(key, signed));
  const reloads = paceReloads(reload, clock);
  let waiting = 0;
  return {
    find: async (signed, call: Call) => {
      const known = findMatching(signed);
      if (known.length > 0) return known;
      if (waiting >= waitingMax) throw new TokenRejectedError('too many tokens wait for keys that are not known');
      waiting++;
      try {
        await withinCall(clock, call, reloads.next());
      } finally {
        waiting--;
      }
      return findMatching(signed);
    },
    findNewer: async (signed, call: Call) => {
      if (signed.kid !== undefined || !reloads.isDue()) return []; // Our keys are named by what they are.
      await withinCall(clock, call, reloads.next());
      return findMatching(signed);
    },
  };
}

interface PacedReloads {
  /** Whether a look would begin at once. */
  isDue(): boolean;
  /** Resolves after a look that has not begun yet. */
  next(): Promise<void>;
}

function paceReloads(reload: () => Promise<void>, clock: Clock): PacedReloads {
  let beganAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const begin = async (): Promise<void> => {
    await running.catch(() => {}); // What it ended with is for those who waited for it.
    const pauseMs = beganAtMs + coolDownMs - clock.monotonicMs();
    if (pauseMs > 0) await sleep(clock, pauseMs);
    beganAtMs = clock.monotonicMs();
    next = undefined;
    await (running = reload());
  };
  return {
    isDue: () => next === undefined && clock.monotonicMs() - beganAtMs >= coolDownMs,
    next: () => (next ??= begin()),
  };
}
