import { type Backoff, backoff, type Clock, type Random } from '@cluster-apiserver/base';

/**
 * Work by key: each key is worked on by one at a time and stands in the queue once, so there are never more entries
 * than keys. Work that failed is tried again after a pause that grows, whatever else asks for the key meanwhile.
 */
export interface RetryQueue {
  add(key: string): void;
  /** Forgets what has not begun, and ends when the rest has. */
  close(): Promise<void>;
}

export interface RetryQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** How many keys are worked on at a time. */
  readonly workers: number;
  readonly pauses: { readonly firstMs: number; readonly maxMs: number };
  readonly work: (key: string) => Promise<void>;
  readonly failed: (key: string, failure: { readonly tries: number; readonly cause: unknown }) => void;
}

export function retryQueue({ clock, random, workers, pauses, work, failed }: RetryQueueOptions): RetryQueue {
  const ready = new Set<string>();
  const running = new Map<string, Promise<void>>();
  /** Keys that were asked for again while they were worked on: what was seen then may be old. */
  const again = new Set<string>();
  const pausing = new Map<string, () => void>();
  const failures = new Map<string, { tries: number; readonly pauses: Backoff }>();
  let closed = false;

  const pump = (): void => {
    for (const key of ready) {
      if (running.size >= workers) return;
      ready.delete(key);
      running.set(key, attempt(key));
    }
  };
  const attempt = async (key: string): Promise<void> => {
    try {
      await work(key);
      failures.delete(key);
    } catch (cause) {
      if (!closed) pauseAfter(key, cause);
    }
    running.delete(key);
    if (again.delete(key)) add(key);
    else pump();
  };
  const pauseAfter = (key: string, cause: unknown): void => {
    const failure = failures.get(key) ?? { tries: 0, pauses: backoff(pauses, random) };
    failure.tries++;
    failures.set(key, failure);
    const resume = (): void => {
      pausing.delete(key);
      add(key);
    };
    pausing.set(key, clock.after(failure.pauses.nextMs(), resume));
    failed(key, { tries: failure.tries, cause });
  };
  const add = (key: string): void => {
    if (closed || pausing.has(key)) return;
    if (running.has(key)) again.add(key);
    else ready.add(key);
    pump();
  };
  return {
    add,
    close: async () => {
      closed = true;
      ready.clear();
      for (const cancel of pausing.values()) cancel();
      pausing.clear();
      await Promise.all(running.values());
    },
  };
}
