import type { Clock } from '@cluster-apiserver/base';

/** Readers of etcd's history at a time. Each is a watch of its own in etcd and holds messages of it in memory. */
const readersMax = 8;

/** Those who wait for a place. A crowd that comes back together is faster with a new list, which memory answers. */
const waitingMax = 100;

/** Nobody waits for a place longer than this: a client hears sooner that it has to list again. */
const waitMaxMs = 10_000;

interface Visitor {
  readonly begin: () => void;
  readonly cancelTimer: () => void;
}

/** How many watchers at a time may read from etcd what memory no longer has. */
export class HistoryLimit {
  readonly #clock: Clock;
  readonly #reading = new Set<Visitor>();
  /** In the order in which they came. */
  readonly #waiting = new Set<Visitor>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Calls back once: `begin` when there is a place, at once if there is one now, or `refuse`. What it returns gives the
   * place back, or takes the wait back.
   */
  enter(begin: () => void, refuse: () => void): () => void {
    if (this.#reading.size === readersMax && this.#waiting.size === waitingMax) {
      refuse();
      return () => {};
    }
    const visitor: Visitor = {
      begin,
      cancelTimer: this.#clock.after(waitMaxMs, () => {
        if (this.#waiting.delete(visitor)) refuse();
      }),
    };
    this.#waiting.add(visitor);
    this.#admitNext();
    return () => {
      visitor.cancelTimer();
      this.#waiting.delete(visitor);
      if (this.#reading.delete(visitor)) this.#admitNext();
    };
  }

  #admitNext(): void {
    const [next] = this.#waiting;
    if (!next || this.#reading.size === readersMax) return;
    this.#waiting.delete(next);
    this.#reading.add(next);
    next.cancelTimer();
    next.begin();
  }
}
