/** The seats of all priority levels: which of them are used, lent and borrowed, and what waits for them. */
import { type Call, type Clock, DeadlineExceededError, onAbort } from '@cluster-apiserver/base';
import type { PriorityLevel, Waiting } from './priority-level.ts';

export class SeatPool {
  readonly clock: Clock;
  readonly levels = new Map<string, PriorityLevel>();
  readonly #waitMaxMs: number;
  /** Seats that levels lend each other, and how many of them are used. */
  #shared = { total: 0, used: 0 };

  /** No request waits for longer than `waitMaxMs`. */
  constructor(clock: Clock, waitMaxMs: number) {
    this.clock = clock;
    this.#waitMaxMs = waitMaxMs;
  }

  /** After the seats of levels have changed. */
  recount(): void {
    const shared = { total: 0, used: 0 };
    for (const level of this.levels.values()) {
      shared.total += level.seats.lendable;
      shared.used += level.sharedAt(level.used);
    }
    this.#shared = shared;
    this.#dispatch();
  }

  /** Takes the seats if there are enough, and nothing of the level waits for them. */
  tryTake(level: PriorityLevel, seats: number): boolean {
    if (level.waiting > 0 || !this.#fits(level, seats)) return false;
    this.take(level, seats);
    return true;
  }

  /** Takes the seats even if there are none. */
  take(level: PriorityLevel, seats: number): void {
    this.#shared.used += level.sharedAt(level.used + seats) - level.sharedAt(level.used);
    level.used += seats;
  }

  free(level: PriorityLevel, seats: number): void {
    this.#shared.used += level.sharedAt(level.used - seats) - level.sharedAt(level.used);
    level.used -= seats;
    this.#dispatch();
  }

  /**
   * Until its turn has come and it has its seats; `isFirst` for a request that was served before. Rejects with
   * DeadlineExceededError, or with why its client left.
   */
  async wait(
    level: PriorityLevel,
    waiting: Omit<Waiting, 'start' | 'sinceMs'>,
    call: Call,
    isFirst: boolean,
  ): Promise<void> {
    const sinceMs = this.clock.monotonicMs();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const entry: Waiting = { ...waiting, sinceMs, start: resolve };
    level.enqueue(entry, isFirst);
    // At once, or the next seats would go to it.
    const giveUp = (error: unknown): void => {
      level.remove(entry, false);
      reject(error);
    };
    const waitMs = Math.max(0, Math.min(this.#waitMaxMs, call.deadlineMs - sinceMs));
    const cancel = this.clock.after(waitMs, () => giveUp(new DeadlineExceededError()));
    const unfollow = call.signal ? onAbort(call.signal, () => giveUp(call.signal?.reason)) : () => {};
    try {
      await promise;
    } finally {
      cancel();
      unfollow();
    }
  }

  #fits(level: PriorityLevel, seats: number): boolean {
    const after = level.used + seats;
    if (after <= level.guaranteed) return true;
    if (after > level.limit) return false;
    return this.#shared.used + level.sharedAt(after) - level.sharedAt(level.used) <= this.#shared.total;
  }

  /** Starts what fits now: of the levels that wait, the one that uses the smallest part of its own seats comes first. */
  #dispatch(): void {
    for (;;) {
      let first: { level: PriorityLevel; entry: Waiting; part: number } | undefined;
      for (const level of this.levels.values()) {
        if (level.waiting === 0) continue;
        const part = level.used / Math.max(1, level.seats.nominal);
        if (first && first.part <= part) continue;
        const entry = level.next();
        if (entry && this.#fits(level, entry.seats)) first = { level, entry, part };
      }
      if (!first) return;
      first.level.remove(first.entry, true);
      this.take(first.level, first.entry.seats);
      first.entry.start();
    }
  }
}
