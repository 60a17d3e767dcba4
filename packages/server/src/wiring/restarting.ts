import { backoff, type Clock, type Random, sleep } from '@cluster-apiserver/base';

export interface RestartOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly work: () => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** Work that failed is started again after a pause: its next start may meet the same fault at once. */
const pauses = { firstMs: 1_000, maxMs: 60_000 };

/** Runs work that lasts until the signal aborts, and starts it again whenever it fails before. */
export async function runWithRestarts({ clock, random, signal, work, failed }: RestartOptions): Promise<void> {
  const nextPause = backoff(pauses, random);
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      failed(error);
      // Ends early, by the signal.
      await sleep(clock, nextPause.nextMs(), signal).catch(() => {});
    }
  }
}
