import { backoff, type CleanupStack, type Clock, onAbort, type Random, sleep } from '@cluster-apiserver/base';
import { isStorageUnavailable } from '@cluster-apiserver/registry';

export interface RetriedWork {
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Pauses between failures, because the work may fail again at once. */
  readonly pauses: { readonly firstMs: number; readonly maxMs: number };
  readonly work: () => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** Runs work until it is done, or the signal aborts. */
export async function retryUntilDone({ clock, random, signal, pauses, work, failed }: RetriedWork): Promise<void> {
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

/** What a server does once after it has started. */
export interface StartupWork extends Pick<RetriedWork, 'clock' | 'random' | 'failed'> {
  readonly name: string;
  /** Resolves when the work can begin. */
  readonly ready: Promise<void>;
  readonly work: (signal: AbortSignal) => Promise<void>;
}

const startupPauses = { firstMs: 100, maxMs: 10_000 };

/** Runs the work in the background. The result resolves to whether it was done before the cleanup ended it. */
export function startStartupWork(
  { name, ready, work, failed, ...machine }: StartupWork,
  cleanup: CleanupStack,
): Promise<boolean> {
  const closing = new AbortController();
  const { signal } = closing;
  const run = async (): Promise<boolean> => {
    await Promise.race([ready, new Promise<void>((resolve) => onAbort(signal, resolve))]);
    await retryUntilDone({
      ...machine,
      pauses: startupPauses,
      signal,
      work: () => work(signal),
      failed: (error) => signal.aborted || isStorageUnavailable(error) || failed(error),
    });
    return !signal.aborted;
  };
  const running = run();
  cleanup.defer(name, async () => {
    closing.abort(new Error('the server is closing'));
    await running;
  });
  return running;
}
