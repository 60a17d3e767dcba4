/**
 * Time in which this process ran. A process that stood still, because its machine did or a collection was long, finds
 * all its timers late and knows nothing of what others did meanwhile. Who judges them by their silence counts this time.
 */
import { type Clock, sleep } from '@cluster-apiserver/base';

/** The timers of a process that is merely busy are late by less. */
const stallMinMs = 100;

export class StallAwareClock {
  readonly #clock: Clock;
  #stalledMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Goes back when a standstill is noticed: what was dated since then lies in the future by its length. */
  nowMs(): number {
    return this.#clock.monotonicMs() - this.#stalledMs;
  }

  /** Something was to happen by then, in this time, and has happened now. Whoever says it first says it for all. */
  noteTimerFired(dueMs: number): void {
    const lateMs = this.nowMs() - dueMs;
    if (lateMs >= stallMinMs) this.#stalledMs += lateMs;
  }

  async sleep(delayMs: number): Promise<void> {
    const dueMs = this.nowMs() + delayMs;
    await sleep(this.#clock, delayMs);
    this.noteTimerFired(dueMs);
  }
}
