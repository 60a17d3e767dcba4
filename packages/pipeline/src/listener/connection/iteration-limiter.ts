import type { Clock } from '@cluster-apiserver/base';

/**
 * Limits the tasks that begin in one iteration of the event loop; the rest waits, in order. For tasks whose cost arises
 * later, in callbacks of Node: handshakes, first requests of connections, ends of streams.
 */
export class IterationLimiter {
  readonly #clock: Clock;
  readonly #weightMax: number;
  readonly #backlogWeightMax: number;
  readonly #longMs: number;
  readonly #waiting: WeightedTask[] = [];
  /** Total weight of this iteration. */
  #weight = 0;
  #isScheduled = false;
  #scheduledMs = 0;

  /**
   * `weightMax` limits an iteration, `backlogWeightMax` one with waiting tasks; the last task may exceed them. After an
   * iteration of more than `longMs`, waiting tasks rest for twice as long, so that everything else has most of the time.
   */
  constructor(clock: Clock, { weightMax, backlogWeightMax = weightMax, longMs = Infinity }: IterationLimits) {
    this.#clock = clock;
    this.#weightMax = weightMax;
    this.#backlogWeightMax = backlogWeightMax;
    this.#longMs = longMs;
  }

  /** `task` must not throw. */
  run(task: () => void, weight = 1): void {
    // First of all, since the next iteration resets the count.
    this.#schedule();
    if (this.#waiting.length > 0 || this.#weight >= this.#weightMax) this.#waiting.push({ task, weight });
    else this.#runNow({ task, weight });
  }

  /** For a task that can wait in the middle: resolves when it may continue; undefined if that is now. */
  waitForTurn(weight: number): Promise<void> | undefined {
    this.#schedule();
    if (this.#waiting.length > 0 || this.#weight >= this.#weightMax)
      return new Promise((resolve) => this.#waiting.push({ task: resolve, weight }));
    this.#weight += weight;
    return undefined;
  }

  #runNow({ task, weight }: WeightedTask): void {
    this.#weight += weight;
    task();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#scheduledMs = this.#clock.monotonicMs();
    this.#clock.soon(() => this.#endIteration());
    this.#isScheduled = true;
  }

  #endIteration(): void {
    // First of all: if this fails, the next task schedules again.
    this.#isScheduled = false;
    const tookMs = this.#clock.monotonicMs() - this.#scheduledMs;
    if (tookMs <= this.#longMs || this.#waiting.length === 0) return this.#nextIteration();
    this.#clock.after(Math.min(restFactor * tookMs, restMaxMs), () => this.#nextIteration());
    this.#isScheduled = true;
  }

  #nextIteration(): void {
    this.#isScheduled = false;
    this.#weight = 0;
    if (this.#waiting.length > 0) this.#schedule();
    while (this.#weight < this.#backlogWeightMax) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#runNow(next);
    }
  }
}

interface IterationLimits {
  readonly weightMax: number;
  readonly backlogWeightMax?: number;
  readonly longMs?: number;
}

const restFactor = 2;
/** A process that stood still does not delay its tasks for that long. */
const restMaxMs = 50;

interface WeightedTask {
  readonly task: () => void;
  readonly weight: number;
}
