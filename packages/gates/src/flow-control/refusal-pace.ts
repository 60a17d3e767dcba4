import { type Call, type Clock, sleep } from '@cluster-apiserver/base';

/** Answers a second, and how many are given at once after a quiet time. */
const perSecond = 250;
const intervalMs = 1_000 / perSecond;
const atOnceMax = 100;
/** No request is held for longer. */
const holdMaxMs = 5_000;
/** Requests that are held; each takes some kilobytes. */
const heldMax = 4_000;

/**
 * When refused requests are answered. A request that is refused costs nearly as much as one that is served: it has been
 * decrypted, parsed and authenticated. A client that asks again at once, without regard to Retry-After, would keep the server
 * busy with refusals. So they are answered at a steady rate, and meanwhile the connection of such a client is silent.
 */
export class RefusalPace {
  #nextMs = Number.NEGATIVE_INFINITY;
  #held = 0;

  /** Requests that wait for their refusal. */
  get held(): number {
    return this.#held;
  }

  /** Resolves when the refusal may be answered, or its request has ended; undefined if it may be answered at once. */
  hold(clock: Clock, call: Call): Promise<void> | undefined {
    if (this.#held >= heldMax) return undefined;
    const nowMs = clock.monotonicMs();
    const turnMs = Math.max(this.#nextMs + intervalMs, nowMs - atOnceMax * intervalMs);
    this.#nextMs = Math.min(turnMs, nowMs + holdMaxMs);
    const delayMs = Math.min(this.#nextMs, call.deadlineMs) - nowMs;
    return delayMs > 0 ? this.#wait(clock, call, delayMs) : undefined;
  }

  async #wait(clock: Clock, call: Call, delayMs: number): Promise<void> {
    this.#held++;
    try {
      await sleep(clock, delayMs, call.signal);
    } catch {
      // Its client has left, or its time is over. It is refused all the same.
    }
    this.#held--;
  }
}
