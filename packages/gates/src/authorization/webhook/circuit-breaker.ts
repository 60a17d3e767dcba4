import type { Clock } from '@cluster-apiserver/base';

/**
 * Keeps requests from piling up at a webhook that does not respond. Each waiting request occupies one of the in-flight seats,
 * so a hanging webhook would soon block all requests, even those that it does not decide.
 *
 * - Requests beyond `waitingMax` fail at once. This bounds memory; a working webhook never reaches it.
 * - If `waitingInSilenceMax` requests wait and the webhook has not responded for `silenceMs`, further requests fail at once:
 *   the first timeout would come too late.
 * - After `failuresMax` consecutive failed attempts one request per `pauseMs` is sent, and the others fail at once. The first
 *   response closes the circuit. The failure policy decides failed requests; cached decisions stay valid.
 */
const waitingMax = 5_000;
const waitingInSilenceMax = 50;
const silenceMs = 3_000;
const failuresMax = 5;
const pauseMs = 1_000;

export class CircuitBreaker {
  readonly #clock: Clock;
  #waiting = 0;
  /** Failed attempts since the last response. */
  #failures = 0;
  /** When the webhook last responded, or when the oldest waiting request was sent. */
  #lastSignMs = 0;
  #nextTrialMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether a request may be sent. Call `release` after it. */
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
