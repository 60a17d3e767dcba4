import type { Clock } from './clock.ts';

/** One piece of long work takes no longer than this on the thread that serves everybody. */
const sliceMs = 4;

/** Tells when a slice that begins now is over. */
export function sliceEnd(clock: Clock): () => boolean {
  const endMs = clock.monotonicMs() + sliceMs;
  return () => clock.monotonicMs() >= endMs;
}

/** Works of one iteration: what becomes of their results is done behind them, where nobody looks at the clock. */
const worksMax = 32;

/**
 * Iterations of the event loop from one slice to the next. Whatever else is served needs some: a read one for its
 * request, one for the answer of the store and one for its own. Where nobody is, they take microseconds.
 */
export const iterationsPerSlice = 4;

/**
 * Lets long works take turns on the event loop: in one iteration of it they have a few milliseconds together, however
 * many they are, and in the next ones whatever else has arrived is served.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;
  /** When the time of this iteration is used up; undefined before its first work. */
  #endMs: number | undefined;
  #doneNow = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does a piece of work when its turn has come. `isOver` tells the work when it should let others have theirs. */
  take<T>(work: (isOver: () => boolean) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(work(sliceEnd(this.#clock)));
        } catch (error) {
          reject(error);
        }
      });
      this.#schedule();
    });
  }

  /**
   * Does a piece of work at once if this iteration has time for it, and when its turn has come otherwise. For short
   * works, of which most are alone: hundreds that become ready in one moment are spread over as many iterations as they
   * need.
   */
  takeNow<T>(work: () => T): T | Promise<T> {
    const nowMs = this.#clock.monotonicMs();
    this.#endMs ??= nowMs + sliceMs;
    if (this.#waiting.length > 0 || this.#doneNow === worksMax || nowMs >= this.#endMs) return this.take(work);
    this.#doneNow++;
    this.#schedule();
    return work();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#waitIterations(iterationsPerSlice);
  }

  #waitIterations(iterations: number): void {
    this.#clock.soon(() => (iterations > 1 ? this.#waitIterations(iterations - 1) : this.#work()));
  }

  #work(): void {
    this.#isScheduled = false;
    this.#endMs = undefined;
    this.#doneNow = 0;
    // What is asked for meanwhile is for the next iteration.
    const waiting = Math.min(this.#waiting.length, worksMax);
    if (waiting === 0) return;
    const isOver = sliceEnd(this.#clock);
    for (let done = 0; done < waiting; done++) {
      this.#waiting.shift()?.();
      if (isOver()) break;
    }
    if (this.#waiting.length > 0) this.#schedule();
  }
}

/**
 * The time that one long loop works before it leaves the rest to the next turn of the event loop. It counts work alone,
 * in whichever turns: a loop that has little to do in each waits for nothing once in a while.
 */
export class TurnBudget {
  readonly #clock: Clock;
  #sinceMs = 0;
  #spentMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Work begins, or goes on after a wait. */
  begin(): void {
    this.#sinceMs = this.#clock.monotonicMs();
  }

  /** Counts the work since it was begun, or was counted last. Whether the rest should wait for the next turn. */
  get isSpent(): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#spentMs += nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    return this.#spentMs >= sliceMs;
  }

  /** Resolves in the next turn, where work goes on. */
  async nextTurn(): Promise<void> {
    await new Promise<void>((resolve) => this.#clock.soon(resolve));
    this.#spentMs = 0;
    this.begin();
  }
}

const turnsByClock = new WeakMap<Clock, Turns>();

/** A process has one clock and one event loop. */
export function turnsOf(clock: Clock): Turns {
  let turns = turnsByClock.get(clock);
  if (!turns) {
    turns = new Turns(clock);
    turnsByClock.set(clock, turns);
  }
  return turns;
}
