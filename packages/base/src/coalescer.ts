import type { Clock } from './clock.ts';

/** If the last run is older than this, the next one does not wait for an iteration of the event loop. */
export const coalescingMs = 2;

/**
 * Runs an action once for all who request it at about the same time. Usually that is in the next iteration of the event
 * loop, which saves wake-ups when many small requests arrive. If iterations are long or requests rare, that would only add
 * latency: then it runs right after the current callback, for all who request it in there.
 */
export class Coalescer {
  readonly #clock: Clock;
  readonly #act: () => void;
  #isScheduled = false;
  #ranMs = Number.NEGATIVE_INFINITY;

  /** `act` must not throw. */
  constructor(clock: Clock, act: () => void) {
    this.#clock = clock;
    this.#act = act;
  }

  request(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    if (this.#clock.monotonicMs() - this.#ranMs < coalescingMs) this.#clock.soon(this.#run);
    else this.#clock.microtask(this.#run);
  }

  readonly #run = (): void => {
    this.#isScheduled = false;
    this.#ranMs = this.#clock.monotonicMs();
    this.#act();
  };
}
