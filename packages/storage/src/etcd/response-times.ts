/** What recent response times of etcd say: how long an attempt should wait, and whether requests queue there. */

/** A response may take this many times as long as the slowest recent one. */
const headroom = 2;

/** Each quick response reduces the slowest time to this fraction, so that timeouts soon become short again. */
const decay = 0.9;

/** The part of a new time in the average. */
const newPart = 1 / 16;

/** The shortest time is that of this period or the one before it: a disk may have become slower. */
const periodMs = 30_000;

/** Differences below it are no queue. */
const shortestMinMs = 1;

export class ResponseTimes {
  readonly #minMs: number;
  readonly #maxMs: number;
  #slowestMs = 0;
  #averageMs = 0;
  #shortestMs = Number.POSITIVE_INFINITY;
  #shortestBeforeMs = Number.POSITIVE_INFINITY;
  #periodBeganMs = 0;

  /** Of the timeout. */
  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs;
    this.#maxMs = maxMs;
  }

  /**
   * The timeout of an attempt. It is usually short, because a silent member is probably dead. If responses are slow, as with
   * a slow disk, short attempts would all fail and their retries would slow down the leader further.
   */
  get timeoutMs(): number {
    return Math.min(this.#maxMs, Math.max(this.#minMs, this.#slowestMs * headroom));
  }

  /** How many times as long responses take as without other requests before them: 1 if there is no queue. */
  get congestion(): number {
    const shortestMs = Math.max(shortestMinMs, Math.min(this.#shortestMs, this.#shortestBeforeMs));
    return Math.max(1, this.#averageMs / shortestMs);
  }

  note(afterMs: number, nowMs: number): void {
    this.#slowestMs = Math.max(afterMs, this.#slowestMs * decay);
    this.#averageMs += (afterMs - this.#averageMs) * newPart;
    if (nowMs - this.#periodBeganMs > periodMs) {
      this.#shortestBeforeMs = this.#shortestMs;
      this.#shortestMs = Number.POSITIVE_INFINITY;
      this.#periodBeganMs = nowMs;
    }
    this.#shortestMs = Math.min(this.#shortestMs, afterMs);
  }
}
