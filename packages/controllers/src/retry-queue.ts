import { type Backoff, backoff, type Clock, type Random } from '@cluster-apiserver/base';
import type { QueueMeasures } from './controller-measures.ts';

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

/**
 * Work by key: one worker at a time works on a key, and a key waits in the queue once, so the number of keys bounds the
 * queue. A key whose work failed pauses with exponential backoff, even if it is added again meanwhile.
 */
export class RetryQueue<Key extends object | string> {
  readonly #options: RetryQueueOptions<Key>;
  /** Keys that wait for a worker, and since when. */
  readonly #ready = new Map<Key, number>();
  /** One iterator for many keys: a new one would first skip all entries of the map that were deleted. */
  #waiting = this.#ready.entries();
  readonly #running = new Map<Key, Promise<void>>();
  /** Keys that were added while they were worked on: that work may have seen an old state. */
  readonly #again = new Set<Key>();
  /** Keys whose work has failed, each with its timer. */
  readonly #pausing = new Map<Key, () => void>();
  readonly #failures = new Map<Key, { tries: number; readonly pauses: Backoff }>();
  #isClosed = false;

  constructor(options: RetryQueueOptions<Key>) {
    this.#options = options;
  }

  /** Bound, because it is passed on alone. */
  readonly add = (key: Key): void => {
    if (this.#isClosed || this.#pausing.has(key)) return;
    if (!this.#ready.has(key) && !this.#again.has(key)) this.#options.measures.added();
    if (this.#running.has(key)) this.#again.add(key);
    else this.#makeReady(key);
    this.#startWork();
  };

  /** Drops the keys that wait and resolves when the running work has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#ready.clear();
    this.#options.measures.queued(0);
    for (const cancel of this.#pausing.values()) cancel();
    this.#pausing.clear();
    await Promise.all(this.#running.values());
  }

  #startWork(): void {
    const { clock, workers, measures } = this.#options;
    while (this.#running.size < workers) {
      const taken = this.#take();
      if (!taken) break;
      const [key, sinceMs] = taken;
      this.#running.set(key, this.#attempt(key, measures.began((clock.monotonicMs() - sinceMs) / 1000)));
    }
    measures.queued(this.#ready.size);
  }

  #take(): readonly [key: Key, sinceMs: number] | undefined {
    let next = this.#waiting.next();
    if (next.done) {
      this.#waiting = this.#ready.entries();
      next = this.#waiting.next();
    }
    if (next.done) return undefined;
    this.#ready.delete(next.value[0]);
    return next.value;
  }

  async #attempt(key: Key, ended: () => void): Promise<void> {
    try {
      await this.#options.work(key);
      this.#failures.delete(key);
    } catch (cause) {
      if (!this.#isClosed) this.#pauseAfter(key, cause);
    }
    ended();
    this.#running.delete(key);
    if (this.#again.delete(key)) this.#makeReady(key);
    // Also when `add` left the key to its pause: the worker is free for another key.
    this.#startWork();
  }

  #pauseAfter(key: Key, cause: unknown): void {
    const { clock, random, pauses, failed } = this.#options;
    const failure = this.#failures.get(key) ?? { tries: 0, pauses: backoff(pauses, random) };
    failure.tries++;
    this.#failures.set(key, failure);
    const resume = (): void => {
      this.#pausing.delete(key);
      this.add(key);
    };
    this.#pausing.set(key, clock.after(failure.pauses.nextMs(), resume));
    failed(key, { tries: failure.tries, cause });
  }

  #makeReady(key: Key): void {
    if (this.#isClosed || this.#pausing.has(key) || this.#ready.has(key)) return;
    this.#ready.set(key, this.#options.clock.monotonicMs());
  }
}
