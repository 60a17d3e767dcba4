import type { Clock } from './clock.ts';

/** One piece of long work takes no longer than this on the thread that serves everybody. */
const sliceMs = 4;

/** Tells when a slice that begins now is over. */
export function sliceEnd(clock: Clock): () => boolean {
  const endMs = clock.monotonicMs() + sliceMs;
  return () => clock.monotonicMs() >= endMs;
}

/**
 * Lets long works take turns on the event loop: in one iteration of it they have a few milliseconds together, however
 * many they are, and then whatever else has arrived is served.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;

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

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#clock.soon(() => {
      this.#isScheduled = false;
      const isOver = sliceEnd(this.#clock);
      // What is asked for meanwhile is for the next iteration.
      const waiting = this.#waiting.length;
      for (let done = 0; done < waiting; done++) {
        this.#waiting.shift()?.();
        if (isOver()) break;
      }
      if (this.#waiting.length > 0) this.#schedule();
    });
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
