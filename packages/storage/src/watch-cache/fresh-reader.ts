import type { Call } from '../store.ts';

/** Called with how long a read waited for the memory, and whether it succeeded. The linearizable read is not included. */
export type ReadObserver = (waitedMs: number, succeeded: boolean) => void;

/** A read that waits until the memory is fresh enough. */
export interface FreshReader {
  readonly call: Call;
  readonly arrivedMs: number;
  readonly observe?: ReadObserver | undefined;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The memory is fresh enough. An aborted read is rejected, so that its caller does no further work. */
export function resolveReader(
  { call, observe, resolve, reject }: Omit<FreshReader, 'arrivedMs'>,
  waitedMs: number,
): void {
  if (call.isAborted) return reject(call.signal?.reason);
  observe?.(waitedMs, true);
  resolve();
}

export function rejectReader({ observe, reject }: FreshReader, error: unknown, waitedMs: number): void {
  observe?.(waitedMs, false);
  reject(error);
}
