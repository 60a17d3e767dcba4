import type { Clock } from '@cluster-apiserver/base';

/**
 * Keeps requests from piling up at a webhook that does not answer. Each of them holds one of the server's seats for as
 * long as it waits, so without this a webhook that hangs stops the whole server within moments, for callers that it
 * never decides about, too.
 *
 * - Requests beyond `waitingMax` fail at once: a bound of memory that a webhook which works never meets.
 * - A webhook that has said nothing for `silenceMs` while `waitingInSilenceMax` requests wait gets no further ones. It
 *   would take the whole timeout until the first of them fails.
 * - After `failuresMax` failed attempts in a row, by whatever requests, it gets one request in `pauseMs`, and the others
 *   fail at once. The first answer lets all of them in again. Requests that fail at once are decided by the failure
 *   policy; decisions in the cache are not concerned.
 */
const waitingMax = 5_000;
const waitingInSilenceMax = 50;
const silenceMs = 3_000;
const failuresMax = 5;
const pauseMs = 1_000;

export class CircuitBreaker {
  readonly #clock: Clock;
  #waiting = 0;
  /** Failed attempts since the last answer. */
  #failures = 0;
  /** When the webhook last answered, or the first of those was sent that wait now. */
  #lastSignMs = 0;
  #nextTrialMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a request may be sent. Whoever was let in calls `leave` in the end. */
  acquire(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#waiting >= waitingMax) return false;
    if (this.#waiting === 0) this.#lastSignMs = nowMs;
    const isSilent = this.#waiting >= waitingInSilenceMax && nowMs - this.#lastSignMs >= silenceMs;
    if (isSilent || this.#failures >= failuresMax) {
      if (nowMs < this.#nextTrialMs) return false;
      this.#nextTrialMs = nowMs + pauseMs;
    }
    this.#waiting++;
    return true;
  }

  release(): void {
    this.#waiting--;
  }

  recordResponse(): void {
    this.#failures = 0;
    this.#lastSignMs = this.#clock.monotonicMs();
  }

  recordFailure(): void {
    this.#failures++;
    if (this.#failures === failuresMax) this.#nextTrialMs = this.#clock.monotonicMs() + pauseMs;
  }
}
