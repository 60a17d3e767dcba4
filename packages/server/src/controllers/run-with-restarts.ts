import { backoff, type Clock, type Random, sleep } from '@cluster-apiserver/base';

export interface RestartOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  readonly work: () => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** Failed work is restarted after a pause, because it may fail again at once. */
const pauses = { firstMs: 1_000, maxMs: 60_000 };

/** Runs work until the signal aborts, and restarts it whenever it fails. */
export async function runWithRestarts({ clock, random, signal, work, failed }: RestartOptions): Promise<void> {
  const nextPause = backoff(pauses, random);
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      failed(error);
      // The signal ends the pause.
      await sleep(clock, nextPause.nextMs(), signal).catch(() => {});
    }
  }
}
