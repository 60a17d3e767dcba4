/**
 * Time without stalls of this process. After a suspended machine or a long garbage collection all timers are late,
 * although the peers were not silent. So timeouts on peers are measured in this time.
 */
import { type Clock, sleep } from '@cluster-apiserver/base';

/** In a process that is merely busy, timers are late by less. */
const stallMinMs = 100;

export class StallAwareClock {
  readonly #clock: Clock;
  #stalledMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Goes back when a stall is detected, so that times taken since its start may be in the future. */
  nowMs(): number {
    return this.#clock.monotonicMs() - this.#stalledMs;
  }

  /** Call this when a timer fires that was due at `dueMs` of this clock. The first late one accounts for the stall. */
  noteTimerFired(dueMs: number): void {
    const lateMs = this.nowMs() - dueMs;
    if (lateMs >= stallMinMs) this.#stalledMs += lateMs;
  }

  /** Calls back once after a delay. The returned function cancels the timer. */
  after(delayMs: number, callback: () => void): () => void {
    const dueMs = this.nowMs() + delayMs;
    return this.#clock.after(delayMs, () => {
      this.noteTimerFired(dueMs);
      callback();
    });
  }

  async sleep(delayMs: number): Promise<void> {
    const dueMs = this.nowMs() + delayMs;
    await sleep(this.#clock, delayMs);
    this.noteTimerFired(dueMs);
  }
}
