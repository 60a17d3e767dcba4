import { type Backoff, backoff, type Clock, type Random } from '@cluster-apiserver/base';
import type { QueueMeasures } from './measures.ts';

/**
 * Work by key: one worker at a time works on a key, and a key waits in the queue once, so the number of keys bounds the
 * queue. A key whose work failed pauses with exponential backoff, even if it is added again meanwhile.
 */
export interface RetryQueue<Key> {
  readonly add: (key: Key) => void;
  /** Drops the keys that wait and resolves when the running work has ended. */
  close(): Promise<void>;
}

export interface RetryQueueOptions<Key> {
  readonly clock: Clock;
  readonly random: Random;
  /** How many keys are worked on at a time. */
  readonly workers: number;
  readonly pauses: { readonly firstMs: number; readonly maxMs: number };
  readonly work: (key: Key) => Promise<void>;
  readonly failed: (key: Key, failure: { readonly tries: number; readonly cause: unknown }) => void;
  readonly measures: QueueMeasures;
}

export function retryQueue<Key extends object | string>(options: RetryQueueOptions<Key>): RetryQueue<Key> {
  const { clock, random, workers, pauses, work, failed, measures } = options;
  /** Keys that wait for a worker, and since when. */
  const ready = new Map<Key, number>();
  const running = new Map<Key, Promise<void>>();
  /** Keys that were added while they were worked on: that work may have seen an old state. */
  const again = new Set<Key>();
  const pausing = new Map<Key, () => void>();
  const failures = new Map<Key, { tries: number; readonly pauses: Backoff }>();
  let closed = false;

  /** One iterator for many keys: a new one would first skip all entries of the map that were deleted. */
  let waiting = ready.entries();
  const take = (): readonly [key: Key, sinceMs: number] | undefined => {
    let next = waiting.next();
    if (next.done) {
      waiting = ready.entries();
      next = waiting.next();
    }
    if (next.done) return undefined;
    ready.delete(next.value[0]);
    return next.value;
  };
  const pump = (): void => {
    while (running.size < workers) {
      const taken = take();
      if (!taken) break;
      const [key, sinceMs] = taken;
      running.set(key, attempt(key, measures.began((clock.monotonicMs() - sinceMs) / 1000)));
    }
    measures.queued(ready.size);
  };
  const attempt = async (key: Key, ended: () => void): Promise<void> => {
    try {
      await work(key);
      failures.delete(key);
    } catch (cause) {
      if (!closed) pauseAfter(key, cause);
    }
    ended();
    running.delete(key);
    if (again.delete(key)) wait(key);
    // Also when `add` left the key to its pause: the worker is free for another key.
    pump();
  };
  const pauseAfter = (key: Key, cause: unknown): void => {
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
  const add = (key: Key): void => {
    if (closed || pausing.has(key)) return;
    if (!ready.has(key) && !again.has(key)) measures.added();
    if (running.has(key)) again.add(key);
    else wait(key);
    pump();
  };
  const wait = (key: Key): void => {
    if (!closed && !pausing.has(key) && !ready.has(key)) ready.set(key, clock.monotonicMs());
  };
  return {
    add,
    close: async () => {
      closed = true;
      ready.clear();
      measures.queued(0);
      for (const cancel of pausing.values()) cancel();
      pausing.clear();
      await Promise.all(running.values());
    },
  };
}
