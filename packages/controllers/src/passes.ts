import type { Clock } from '@cluster-apiserver/base';

/** Passes over memory, one at a time: however often one is requested while it runs, it runs once more. */
export interface Passes {
  request(): void;
  /** Lets `run` reject with this error: what a pass would build on is not to be trusted. */
  fail(error: unknown): void;
  /** Runs requested passes until the signal aborts. Rejects if a pass fails. */
  run(pass: () => Promise<void>): Promise<void>;
}

export function createPasses(clock: Clock, signal: AbortSignal): Passes {
  let isRequested = false;
  let failure: { readonly error: unknown } | undefined;
  let wake = (): void => {};
  signal.addEventListener('abort', () => wake(), { once: true });
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
        try {
          await pass();
        } catch (error) {
          if (!signal.aborted) throw error;
        }
      }
    },
  };
}
