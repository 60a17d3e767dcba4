import type { Random } from './random.ts';

/** Growing pauses between attempts, with jitter so that many callers do not retry at the same moment. */
export interface Backoff {
  nextMs(): number;
  reset(): void;
}

export function backoff(limits: { firstMs: number; maxMs: number }, random: Random): Backoff {
  let current = limits.firstMs;
  return {
    nextMs: () => {
      const pause = current / 2 + random.below(Math.ceil(current / 2) + 1);
      current = Math.min(current * 2, limits.maxMs);
      return pause;
    },
    reset: () => {
      current = limits.firstMs;
    },
  };
}
