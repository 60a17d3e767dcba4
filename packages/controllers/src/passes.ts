import { type Clock, onAbort, sleep } from '@cluster-apiserver/base';
import { StorageUnavailableError } from '@cluster-apiserver/storage';

/**
 * Passes over memory, one at a time: however often one is requested while it runs, it runs once more. Afterwards they
 * rest for as long as that took, so they never take more than half of the event loop.
 */
export interface Passes {
  readonly request: () => void;
  /** Makes `run` reject with this error, because the derived state may be inconsistent. */
  readonly fail: (error: unknown) => void;
  /**
   * Runs requested passes until the signal aborts. Rejects if a pass fails, unless memory was emptied meanwhile, because
   * etcd was replaced: then the reload requests the next pass.
   */
  run(pass: () => Promise<void>): Promise<void>;
}

/** A shorter pass is no burden, and a timer costs more than it would spare. */
const restFromMs = 5;

export function createPasses(clock: Clock, signal: AbortSignal): Passes {
  let isRequested = false;
  let failure: { readonly error: unknown } | undefined;
  let wake = (): void => {};
  onAbort(signal, () => wake());
  const requested = (): Promise<void> =>
    new Promise((resolve) => {
      wake = resolve;
      if (isRequested || failure || signal.aborted) resolve();
    });
  return {
    request: () => {
      isRequested = true;
      wake();
    },
    fail: (error) => {
      failure ??= { error };
      wake();
    },
    run: async (pass) => {
      for (;;) {
        await requested();
        // In a turn of its own: the request came while the watch cache applied a change.
        await new Promise<void>((resolve) => clock.soon(resolve));
        if (signal.aborted) return;
        if (failure) throw failure.error;
        isRequested = false;
        const beganMs = clock.monotonicMs();
        try {
          await pass();
        } catch (error) {
          if (!signal.aborted && !(error instanceof StorageUnavailableError)) throw error;
        }
        const tookMs = clock.monotonicMs() - beganMs;
        // Ends early, by the signal, with the term.
        if (tookMs > restFromMs) await sleep(clock, tookMs, signal).catch(() => {});
      }
    },
  };
}
