import { type Call, type Clock, sleep, awaitWithin } from '@cluster-apiserver/base';
import type { JWK } from 'jose';
import { matchesKey, type SignatureHeader } from '../oidc/algorithms.ts';
import type { KeyFinder } from '../oidc/verify-claims.ts';
import { tooManyWaitingTokens } from '../token-rejected-error.ts';

export interface KeyFinderOptions {
  readonly keys: () => readonly JWK[];
  /** Reads the key files again. */
  readonly reload: () => Promise<void>;
  readonly clock: Clock;
}

/** Minimum interval between reloads, however many tokens with unknown keys arrive. */
const coolDownMs = 1_000;
/** Maximum number of tokens that wait for a reload. They cost little, but any client can send them. */
const waitingMax = 1_000;

/**
 * Finds keys of service account tokens. Another replica may have started to use an unknown key a moment ago: the token waits
 * for a reload of the key files that starts after its arrival. Waiting tokens share a reload.
 */
export function createKeyFinder({ keys, reload, clock }: KeyFinderOptions): KeyFinder {
  const findMatching = (signed: SignatureHeader): readonly JWK[] => keys().filter((key) => matchesKey(key, signed));
  const reloads = paceReloads(reload, clock);
  let waiting = 0;
  return {
    find: async (signed, call: Call) => {
      const known = findMatching(signed);
      if (known.length > 0) return known;
      if (waiting >= waitingMax) throw tooManyWaitingTokens();
      waiting++;
      try {
        await awaitWithin(clock, call, reloads.next());
      } finally {
        waiting--;
      }
      return findMatching(signed);
    },
    findNewer: async (signed, call: Call) => {
      if (signed.kid !== undefined || !reloads.isDue()) return []; // a kid is derived from its key
      await awaitWithin(clock, call, reloads.next());
      return findMatching(signed);
    },
  };
}

interface PacedReloads {
  /** Whether a reload would start at once. */
  isDue(): boolean;
  /** Resolves after a reload that has not started yet. */
  next(): Promise<void>;
}

function paceReloads(reload: () => Promise<void>, clock: Clock): PacedReloads {
  let beganAtMs = Number.NEGATIVE_INFINITY;
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | undefined;
  const begin = async (): Promise<void> => {
    await running.catch(() => {}); // those who wait for it receive its error
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
