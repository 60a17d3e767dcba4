import type { Clock } from '@cluster-apiserver/base';

/** How long all watches together may run in one turn of the event loop before requests are served. */
const turnMs = 4;

/** How many items are visited between two reads of the clock: selectors may be slow, and reading it is not free. */
export const itemsPerClockRead = 64;

/**
 * Watches do their work in small steps, a batch of events each. The steps of all watches share a bounded part of every
 * turn of the event loop; steps beyond it wait in a queue for the next turn.
 */
export class WatchTurns {
  readonly #clock: Clock;
  /** In the order in which they came, each once. */
  readonly #waiting = new Set<() => void>();
  /** Undefined before the first step of a turn. */
  #endsMs: number | undefined;
  #scheduled = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether there is time for another step in this turn. */
  get hasTime(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#endsMs !== undefined) return nowMs < this.#endsMs;
    this.#endsMs = nowMs + turnMs;
    // The turn ends there, and queued steps begin the next one.
    this.#schedule();
    return true;
  }

  /** Calls back once, in a turn that has time. */
  wait(step: () => void): void {
    this.#waiting.add(step);
    this.#schedule();
  }

  /** Takes a wait back. */
  cancelWait(step: () => void): void {
    this.#waiting.delete(step);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#clock.soon(() => this.#run());
  }

  #run(): void {
    this.#scheduled = false;
    this.#endsMs = undefined;
    for (const step of this.#waiting) {
      if (!this.hasTime) break;
      this.#waiting.delete(step);
      step();
    }
  }
}
