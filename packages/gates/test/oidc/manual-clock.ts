import type { Clock } from '@cluster-apiserver/base';

/** A clock that stands until it is moved. */
export class ManualClock implements Clock {
  #ms = 0;
  readonly #startMs: number;
  #timers: { readonly atMs: number; readonly callback: () => void }[] = [];

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#ms;
  }

  monotonicMs(): number {
    return this.#ms;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#ms + delayMs, callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  soon(callback: () => void): void {
    queueMicrotask(callback);
  }

  /** How many are waiting for a time to come, so that a test can wait until somebody does. */
  get waiting(): number {
    return this.#timers.length;
  }

  move(ms: number): void {
    this.#ms += ms;
    const due = this.#timers.filter(({ atMs }) => atMs <= this.#ms);
    this.#timers = this.#timers.filter((timer) => !due.includes(timer));
    for (const { callback } of due) callback();
  }
}
