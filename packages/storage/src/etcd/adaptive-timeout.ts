/**
 * How long an attempt may take. Usually that is short, because the likely reason for silence is a dead member. When
 * answers come but come slowly, as from a leader with a slow disk, a short attempt would end just before its answer, and
 * its repetition would make the leader slower still.
 */

/** An answer may take this many times as long as the slowest of late. */
const headroom = 2;

/** Each quick answer takes this much off: after a slow time attempts are soon short again. */
const decay = 0.9;

export class AdaptiveTimeout {
  readonly #attemptMinMs: number;
  readonly #attemptMaxMs: number;
  #slowestMs = 0;

  constructor(attemptMinMs: number, attemptMaxMs: number) {
    this.#attemptMinMs = attemptMinMs;
    this.#attemptMaxMs = attemptMaxMs;
  }

  get currentMs(): number {
    return Math.min(this.#attemptMaxMs, Math.max(this.#attemptMinMs, this.#slowestMs * headroom));
  }

  noteResponse(afterMs: number): void {
    this.#slowestMs = Math.max(afterMs, this.#slowestMs * decay);
  }
}
