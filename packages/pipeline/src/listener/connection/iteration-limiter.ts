import type { Clock } from '@cluster-apiserver/base';

/**
 * Begins works at once while an iteration of the event loop has room for them, and the others in their order in the next
 * ones. For works whose cost shows only behind them, in callbacks of Node's: handshakes, the first requests of a
 * connection, the end of its streams.
 */
export class IterationLimiter {
  readonly #clock: Clock;
  readonly #weightMax: number;
  readonly #waiting: WeightedTask[] = [];
  /** Of this iteration. */
  #weight = 0;
  #isScheduled = false;

  /** Works of this weight begin in one iteration; the last of them may pass it. */
  constructor(clock: Clock, weightMax: number) {
    this.#clock = clock;
    this.#weightMax = weightMax;
  }

  /** `task` must not throw. */
  run(task: () => void, weight = 1): void {
    // First of all: what is counted here is forgotten there.
    this.#schedule();
    if (this.#waiting.length > 0 || this.#weight >= this.#weightMax) this.#waiting.push({ task, weight });
    else this.#runNow({ task, weight });
  }

  #runNow({ task, weight }: WeightedTask): void {
    this.#weight += weight;
    task();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#clock.soon(() => this.#nextIteration());
    this.#isScheduled = true;
  }

  #nextIteration(): void {
    this.#isScheduled = false;
    this.#weight = 0;
    if (this.#waiting.length > 0) this.#schedule();
    while (this.#weight < this.#weightMax) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#runNow(next);
    }
  }
}

interface WeightedTask {
  readonly task: () => void;
  readonly weight: number;
}
