import { type Clock, sleep } from './clock.ts';

/** A source outside this process that changes, such as a file. */
export interface PolledSource<T> {
  readonly clock: Clock;
  readonly pollMs: number;
  readonly read: () => Promise<T>;
  readonly isEqual: (one: T, other: T) => boolean;
  /** Applies the next value, or throws and keeps the old one. */
  readonly apply: (next: T) => void | Promise<void>;
  readonly onError: (error: unknown) => void;
}

/**
 * Polls a source and applies each changed value; returns a function that stops it. It compares contents, because file
 * notifications differ between an edit in place, a rename and a swapped symbolic link, and are lost on network file
 * systems.
 */
export function pollChanges<T>(
  { clock, pollMs, read, isEqual, apply, onError }: PolledSource<T>,
  current: T,
): () => void {
  const stop = new AbortController();
  void (async () => {
    let applied = current;
    let reported = '';
    while (!stop.signal.aborted) {
      await sleep(clock, pollMs, stop.signal);
      try {
        const next = await read();
        if (stop.signal.aborted) return;
        // After an error the same value is applied once more, so that reports of the error end.
        if (!isEqual(next, applied) || reported !== '') {
          await apply(next);
          applied = next;
        }
        reported = '';
      } catch (error) {
        // An error is reported once, and not with every poll until it is fixed.
        try {
          const text = String(error);
          if (text !== reported) onError(error);
          reported = text;
        } catch {
          // The report failed, not the reload: polling goes on, and the next poll reports the error again.
        }
      }
    }
  })().catch(() => {}); // only `stop` ends the loop, by the sleep's signal
  return () => stop.abort();
}
