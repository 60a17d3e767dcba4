/**
 * The timeout of an attempt, which adapts to recent response times. It is usually short, because a silent member is
 * probably dead. If responses are slow, as with a slow disk, short attempts would all fail and their retries would slow
 * down the leader further.
 */

/** A response may take this many times as long as the slowest recent one. */
const headroom = 2;

/** Each quick response reduces the slowest time to this fraction, so that timeouts soon become short again. */
const decay = 0.9;

export class AdaptiveTimeout {
  readonly #minMs: number;
  readonly #maxMs: number;
  #slowestMs = 0;

  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
  }

  get currentMs(): number {
    return Math.min(this.#maxMs, Math.max(this.#minMs, this.#slowestMs * headroom));
  }

  noteResponse(afterMs: number): void {
    this.#slowestMs = Math.max(afterMs, this.#slowestMs * decay);
  }
}
