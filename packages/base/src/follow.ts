import { type Clock, sleep } from './clock.ts';

/** Something outside that changes, such as a file, and what is to be done when it has. */
export interface Followed<T> {
  readonly clock: Clock;
  readonly pollMs: number;
  read(): Promise<T>;
  same(one: T, other: T): boolean;
  /** Takes the next value into service, or throws and leaves the old one there. */
  use(next: T): void | Promise<void>;
  failed(error: unknown): void;
}

/**
 * Follows by content. Notifications differ between an edit in place, a rename and a swapped symbolic link, and are lost
 * on network file systems; bytes are bytes. Whoever no longer wants it calls what is returned.
 */
export function follow<T>({ clock, pollMs, read, same, use, failed }: Followed<T>, current: T): () => void {
  const stop = new AbortController();
  void (async () => {
    let inService = current;
    let complaint = '';
    while (!stop.signal.aborted) {
      await sleep(clock, pollMs, stop.signal);
      try {
        const next = await read();
        if (stop.signal.aborted) return;
        if (!same(next, inService)) {
          await use(next);
          inService = next;
        }
        complaint = '';
      } catch (error) {
        // Once for each fault: every look would otherwise repeat it until somebody mends what is wrong.
        try {
          const text = String(error);
          if (text !== complaint) failed(error);
          complaint = text;
        } catch {
          // The report failed, not the reload: polling goes on, and the next poll reports the fault again.
        }
      }
    }
  })().catch(() => {}); // The only way here is the end of the sleep by `stop`.
  return () => stop.abort();
}
